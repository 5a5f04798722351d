#!/bin/sh
# Copies databases and keys of docker-compose.yml into a new folder, while all of it runs:
#
#   sh deploy/compose/backup.sh backups/today
#
# COMPOSE_PROJECT_NAME and COMPOSE_FILE choose the project as they do for docker-compose; COMPOSE is the command. Not in it:
# what no part could read (the queue work.parked), mails that became files for want of a server, certificates.
#
# The order is that in which events travel, and each queue has been empty between the copy of its sender and that of its
# reader: an event that its sender has handed over is with its receiver, and one that it has not is still in the
# sender's outbox. One that is in both is known by its id. Where people work all the time no queue is empty by itself: the
# broker takes nothing meanwhile, some ten seconds twice, and events wait in the outbox.
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

# The broker stops reading from whoever publishes, and goes on delivering: what a limit of no memory is for.
hold() { $compose exec -T rabbitmq rabbitmqctl -q set_vm_memory_high_watermark 0; }

# The limit that is configured.
release() {
    $compose exec -T rabbitmq rabbitmqctl -q eval '
        {ok, Limit} = application:get_env(rabbit, vm_memory_high_watermark),
        ok = vm_memory_monitor:set_vm_memory_high_watermark(Limit).' > /dev/null
}

# Until each of these queues was seen empty. What the broker says of them is up to five seconds old.
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
drained worksession.identity notify.mail
copy worksession
drained notify.chat notify.webhooks worksession.webhooks
copy notifier

echo "backup.sh: keys" >&2
$compose run --rm -T --no-deps keys tar --directory=/keys --create postgres rabbitmq identity worksession notifier > "$folder/keys.tar"
if ! queues | awk '$1 == "work.parked" && $2 > 0 { exit 1 }'; then
    echo "backup.sh: some messages are parked, and not in the backup: notifier admin parked list" >&2
fi
: > "$folder/complete"
echo "backup.sh: done; whoever has $folder can read everything and sign tokens" >&2
