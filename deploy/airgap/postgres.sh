#!/bin/sh
# The part of the official image's entry point that the compose files use. In an empty folder it creates a cluster whose
# superuser has the password in POSTGRES_PASSWORD_FILE, and runs the scripts of /docker-entrypoint-initdb.d once, on a
# server that is not reachable over the network.
set -eu

if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username=postgres --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    pg_ctl --wait --options="-c listen_addresses=''" start
    for script in /docker-entrypoint-initdb.d/*.sh; do
        [ ! -e "$script" ] || sh "$script"
    done
    pg_ctl --wait --mode=fast stop
fi
exec "$@" -c listen_addresses='*'
