#!/bin/sh
# Fills the folder $1 with what the image adds to the system: the services' programs (those in
# deploy/bin, else freshly built ones), and the list of authorities that chat hooks are trusted by.
set -eu

programs="identity-service worksession-service notifier"
bin=$1/usr/local/bin
certificates=etc/ssl/certs/ca-certificates.crt
mkdir -p "$bin"

if [ -e "/$certificates" ]; then
    mkdir -p "$1/${certificates%/*}"
    cp "/$certificates" "$1/$certificates"
else
    echo "no /$certificates here: hooks over https will fail unless the runtime image has it" >&2
fi

built=deploy/bin
if [ ! -d "$built" ]; then
    set --
    for program in $programs; do
        set -- "$@" --package "$program"
    done
    CARGO_TARGET_DIR=/tmp/target cargo build --release --locked "$@"
    built=/tmp/target/release
fi
for program in $programs; do
    cp "$built/$program" "$bin/"
done
