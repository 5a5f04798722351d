#!/bin/sh
# Fills the empty volumes of a project from a backup by backup.sh. Then `docker-compose up -d` starts it:
#
#   sh deploy/compose/restore.sh backups/today
#
# Beside a project that runs on this machine, the restored one needs its own name (COMPOSE_PROJECT_NAME), network
# (HOLDFAST_NET) and ports (HOLDFAST_IDENTITY_PORT, HOLDFAST_WORKSESSION_PORT).
set -eu

folder=${1:?"say where from: restore.sh FOLDER"}
compose=${COMPOSE:-docker-compose}
# Nothing else starts the project until the restore is finished.
export RESTORING=yes
if [ ! -e "$folder/complete" ]; then
    echo "restore.sh: $folder holds no finished backup" >&2
    exit 1
fi

# The database roles get the passwords in the backup of the keys.
$compose run --rm -T --no-deps keys sh -c '
    if [ -e /keys/identity/.complete ] || [ -e /keys/identity/.restoring ]; then
        echo "restore.sh: this project has data; take it down with its volumes first, or choose another name" >&2
        exit 1
    fi
    : > /keys/identity/.restoring
    exec tar --directory=/keys --extract' < "$folder/keys.tar"
$compose up -d postgres
for _ in $(seq 120); do
    # Over TCP: while the databases are created, the server listens only on its socket.
    ! $compose exec -T postgres pg_isready --quiet --host=127.0.0.1 --username=postgres || break
    sleep 1
done
for part in identity worksession notifier; do
    echo "restore.sh: $part" >&2
    $compose exec -T postgres pg_restore --username=postgres --dbname="$part" --exit-on-error --single-transaction < "$folder/$part.dump"
done
$compose run --rm -T --no-deps keys rm /keys/identity/.restoring
echo "restore.sh: done; start it with: $compose up -d" >&2
