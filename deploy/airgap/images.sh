#!/bin/sh
# Builds the images for docker-compose.yml and its companions from Debian's packages, on machines that reach a mirror of
# Debian but no image registry. Needs root, debootstrap, and an engine that `docker` reaches.
#
#   sh deploy/airgap/images.sh > airgap.env      # prints the variables with the images' names
#   docker-compose --env-file airgap.env up -d
#
# The product's programs are taken from the folder deploy/bin, as described in deploy/Dockerfile.
#
# The major versions are those of the official images: PostgreSQL 17, RabbitMQ 4, Caddy 2. Each image takes the variables and
# folders of the official one, as far as the compose files use them. An existing image is not built again. DEBIAN_MIRROR
# names another mirror than debootstrap's default. A tag ends in a hash of the files in this folder: if one of them
# changes, the images are built again. Old images stay until somebody removes them.
set -eu
cd "$(dirname "$0")"

suite=trixie
# A name of its own, so that it is never mistaken for an official image.
name=holdfast-airgap

version=$(cat -- * | sha256sum | cut -c 1-12)

have() { docker image inspect "$1" > /dev/null 2>&1; }

base=$name/debian:$suite-$version
if ! have "$base"; then
    echo "$base: debootstrap" >&2
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >&2
    # Slim images do not have these files.
    rm -rf "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/* "$folder"/var/log/*
    rm -rf "$folder"/usr/lib/*/gconv
    for kind in doc info locale man; do
        rm -rf "$folder/usr/share/$kind"/*
    done
    # mktemp denies access to others, and so would / of the image, in which not every program runs as root.
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
