#!/bin/sh
# Builds the images that docker-compose.yml and its companions need, out of Debian's packages: for machines that reach a
# mirror of Debian and no registry of images. Needs root, debootstrap, and an engine that `docker` reaches.
#
#   sh deploy/airgap/images.sh > airgap.env      # says on standard output which variables name them
#   docker-compose --env-file airgap.env up -d
#
# Our own programs are taken from the folder deploy/bin, where they lie as deploy/Dockerfile says.
#
# The major versions are those of the official images: PostgreSQL 17, RabbitMQ 4, Caddy 2. Each takes the same
# variables and folders as the official one, as far as our files use them. An image that is there is not built again.
# DEBIAN_MIRROR names another mirror than debootstrap's own. A tag ends with what the files of this folder are: when one of
# them changes, the images are built anew; those of before stay until somebody removes them.
set -eu
cd "$(dirname "$0")"

suite=trixie
# Its own name, so that it is never taken for an official image.
name=holdfast-airgap

version=$(cat -- * | sha256sum | cut -c 1-12)

have() { docker image inspect "$1" > /dev/null 2>&1; }

base=$name/debian:$suite-$version
if ! have "$base"; then
    echo "$base: debootstrap" >&2
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2
    # What a slim image does without.
    rm -rf "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/* "$folder"/var/log/*
    rm -rf "$folder"/usr/lib/*/gconv
    for kind in doc info locale man; do
        rm -rf "$folder/usr/share/$kind"/*
    done
    # mktemp keeps others out, and so would / of the image: not every program in it runs as root.
    chmod 755 "$folder"
    tar --directory "$folder" --create . | docker import - "$base" >&2
fi

for image in postgres:17 rabbitmq:4-management caddy:2 prometheus:2; do
    tag=$name/$image-$version
    if ! have "$tag"; then
        echo "$tag: packages" >&2
        docker build --quiet --build-arg "BASE=$base" --file "${image%%:*}.Dockerfile" --tag "$tag" . >&2
    fi
done

cat <<ENV
HOLDFAST_PROGRAMS=deploy/bin
HOLDFAST_BUILDER_IMAGE=$base
HOLDFAST_RUNTIME_IMAGE=$base
HOLDFAST_POSTGRES_IMAGE=$name/postgres:17-$version
HOLDFAST_RABBITMQ_IMAGE=$name/rabbitmq:4-management-$version
HOLDFAST_CADDY_IMAGE=$name/caddy:2-$version
HOLDFAST_PROMETHEUS_IMAGE=$name/prometheus:2-$version
ENV
