#!/bin/sh
# Copies the databases and keys of docker-compose.yml into a new folder, while everything runs:
#
#   sh deploy/compose/backup.sh backups/today
#
# COMPOSE_PROJECT_NAME and COMPOSE_FILE select the project, as for docker-compose; COMPOSE is the command. The backup lacks
# dead letters (the queue work.parked), mails that became files because there is no mail server, and certificates.
#
# The order is that in which events travel, and each queue is empty at some time between the copy of its sender and that of
# its reader. So an event that its sender has published is with its receiver, and any other is still in the sender's outbox.
# An event that is in both is recognised by its id. Under constant load no queue becomes empty by itself. The broker
# therefore accepts no messages twice, for some ten seconds each, and events wait in the outbox.
set -eu
umask 077

folder=${1:?"say where to: backup.sh FOLDER"}
compose=${COMPOSE:-docker-compose}
if [ -e "$folder/complete" ]; then
    echo "backup.sh: there is a backup in $folder already" >&2
    exit 1
fi
mkdir -p "$folder"

queues() { $compose exec -T rabbitmq rabbitmqctl -q list_queues name messages; }

# Makes the broker stop reading from publishers while it delivers on: a memory limit of 0 does that.
hold() { $compose exec -T rabbitmq rabbitmqctl -q set_vm_memory_high_watermark 0; }

# Restores the configured limit.
release() {
    $compose exec -T rabbitmq rabbitmqctl -q eval '
        {ok, Limit} = application:get_env(rabbit, vm_memory_high_watermark),
        ok = vm_memory_monitor:set_vm_memory_high_watermark(Limit).' > /dev/null
}

# Waits until each of these queues has been empty. The broker's numbers are up to five seconds old.
drained() {
    trap release EXIT
    trap 'exit 1' HUP INT TERM
    hold
    sleep 6
    open=$*
    for _ in $(seq 120); do
        list=$(queues) || exit 1
        still=
        for queue in $open; do
            echo "$list" | awk -v queue="$queue" '$1 == queue && $2 == 0 { empty = 1 } END { exit !empty }' || still="$still $queue"
        done
        open=$still
        [ -n "$open" ] || break
        sleep 1
    done
    if [ -n "$open" ]; then
        echo "backup.sh: never empty:$open; is every part running?" >&2
        exit 1
    fi
    release
    trap - EXIT HUP INT TERM
}

copy() {
    echo "backup.sh: $1" >&2
    $compose exec -T postgres pg_dump --username=postgres --format=custom "$1" > "$folder/$1.dump"
}

copy identity
drained worksession.identity notify.mail notify.logouts
copy worksession
drained notify.chat notify.webhooks worksession.webhooks
copy notifier

echo "backup.sh: keys" >&2
$compose run --rm -T --no-deps keys tar --directory=/keys --create postgres rabbitmq identity worksession notifier > "$folder/keys.tar"
if ! queues | awk '$1 == "work.parked" && $2 > 0 { exit 1 }'; then
    echo "backup.sh: some messages are parked, and not in the backup: notifier admin parked list" >&2
fi
: > "$folder/complete"
echo "backup.sh: done; $folder is enough to read everything and sign tokens" >&2
