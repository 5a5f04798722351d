#!/bin/sh
# Fills the empty volumes of a project with what backup.sh saved; `docker-compose up -d` starts it then:
#
#   sh deploy/compose/restore.sh backups/today
set -eu

folder=${1:?"say where from: restore.sh FOLDER"}
compose=${COMPOSE:-docker-compose}
if [ ! -e "$folder/complete" ]; then
    echo "restore.sh: $folder holds no finished backup" >&2
    exit 1
fi

# The roles of the databases get the passwords that are among the keys.
$compose run --rm -T --no-deps keys sh -c '
    if [ -e /keys/identity/.complete ]; then
        echo "restore.sh: this project has data; take it down with its volumes first, or choose another name" >&2
        exit 1
    fi
    exec tar --directory=/keys --extract' < "$folder/keys.tar"
$compose up -d postgres
for _ in $(seq 120); do
    # Over TCP: while the databases are being made the server listens on its socket only.
    ! $compose exec -T postgres pg_isready --quiet --host=127.0.0.1 --username=postgres || break
    sleep 1
done
for part in identity worksession notifier; do
    echo "restore.sh: $part" >&2
    $compose exec -T postgres pg_restore --username=postgres --dbname="$part" --exit-on-error --single-transaction < "$folder/$part.dump"
done
echo "restore.sh: done; start it with: $compose up -d" >&2
