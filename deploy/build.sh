#!/bin/sh
# The steps of deploy/Dockerfile. If PROGRAMS names a folder with built programs, they compile nothing. The result is in /out:
# one folder for what all images need, and one for each program.
set -eu

programs="identity-service worksession-service notifier holdfast"
all=""
for program in $programs; do
    all="$all --bin $program"
done
export CARGO_TARGET_DIR=/tmp/target

case "$1" in
tools)
    [ -n "$PROGRAMS" ] || cargo install --locked --root /usr/local cargo-chef@0.1.78
    ;;
plan)
    mkdir -p /plan
    [ -n "$PROGRAMS" ] || cargo chef prepare --recipe-path /plan/recipe.json
    ;;
dependencies)
    # shellcheck disable=SC2086 # the words are arguments
    [ -n "$PROGRAMS" ] || cargo chef cook --release --locked --workspace $all --recipe-path /plan/recipe.json
    ;;
programs)
    if [ -z "$PROGRAMS" ]; then
        # shellcheck disable=SC2086
        cargo build --release --locked --workspace $all
        PROGRAMS=/tmp/target/release
        for program in $programs; do
            cargo run --quiet --locked --package xtask-checks -- sbom "$program" > "$PROGRAMS/$program.cdx.json"
        done
    fi
    for program in $programs; do
        [ -e "$PROGRAMS/$program" ] || continue
        mkdir -p "/out/$program/usr/local/bin" "/out/$program/usr/local/share/sbom"
        cp "$PROGRAMS/$program" "/out/$program/usr/local/bin/"
        # The SBOM, which `cargo xtask sbom` writes.
        [ ! -e "$PROGRAMS/$program.cdx.json" ] || cp "$PROGRAMS/$program.cdx.json" "/out/$program/usr/local/share/sbom/"
    done

    # The root certificates for hooks over https; a slim runtime has none.
    mkdir -p /out/system
    certificates=etc/ssl/certs/ca-certificates.crt
    if [ -e "/$certificates" ]; then
        mkdir -p "/out/system/${certificates%/*}"
        cp "/$certificates" "/out/system/$certificates"
    else
        echo "no /$certificates here: hooks over https will fail unless the runtime image has it" >&2
    fi
    ;;
*)
    echo "build.sh: tools, plan, dependencies or programs, not $1" >&2
    exit 2
    ;;
esac
