#!/bin/sh
# The part of the official image's start that our files use: an empty folder becomes a cluster whose superuser has the
# password of POSTGRES_PASSWORD_FILE, and the scripts of /docker-entrypoint-initdb.d run once, on a server that nobody
# reaches over the network.
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
