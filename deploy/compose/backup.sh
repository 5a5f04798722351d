#!/bin/sh
# Copies everything that docker-compose.yml keeps into a new folder, while it runs:
#
#   sh deploy/compose/backup.sh backups/today
#
# COMPOSE_PROJECT_NAME and COMPOSE_FILE choose the project as they do for docker-compose; COMPOSE is the command.
#
# The order is that in which events travel, and a queue is empty before its reader is copied: an event that its sender
# has handed over is with its receiver, and one that it has not is still in the sender's outbox. One that is in both is
# known by its id.
set -eu
umask 077

folder=${1:?"say where to: backup.sh FOLDER"}
compose=${COMPOSE:-docker-compose}
if [ -e "$folder/complete" ]; then
    echo "backup.sh: there is a backup in $folder already" >&2
    exit 1
fi
mkdir -p "$folder"

drained() {
    for _ in $(seq 120); do
        waiting=$($compose exec -T rabbitmq rabbitmqctl -q list_queues name messages |
            awk '$1 != "work.parked" && $2 ~ /^[0-9]+$/ { sum += $2 } END { print sum + 0 }')
        [ "$waiting" -gt 0 ] || return 0
        sleep 1
    done
    echo "backup.sh: $waiting messages are still in the queues; is every part running?" >&2
    exit 1
}

for part in identity worksession notifier; do
    echo "backup.sh: $part" >&2
    drained
    $compose exec -T postgres pg_dump --username=postgres --format=custom "$part" > "$folder/$part.dump"
done
echo "backup.sh: keys" >&2
$compose run --rm -T --no-deps keys sh -c 'cd /keys && exec tar --create *' > "$folder/keys.tar"
: > "$folder/complete"
echo "backup.sh: done; whoever has $folder can read everything and sign tokens" >&2
