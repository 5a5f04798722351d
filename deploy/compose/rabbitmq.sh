#!/bin/sh
# Starts RabbitMQ with the settings beside this file and a user for each part, whose password is in the volume of keys. If
# CLUSTER_NODES names nodes, RabbitMQ starts as one of them.
set -eu
umask 077

settings=/tmp/rabbitmq.conf
definitions=/tmp/definitions.json
set --
for user in identity worksession notifier parked consumer; do
    set -- "$@" -e "s/\"$(echo "$user" | tr a-z A-Z)_PASSWORD\"/\"$(cat "/keys/$user")\"/"
done
sed "$@" /deploy/definitions.json > "$definitions"
cp /deploy/rabbitmq.conf "$settings"
echo "load_definitions = $definitions" >> "$settings"
if [ -n "${CLUSTER_NODES:-}" ]; then
    echo "cluster_formation.peer_discovery_backend = classic_config" >> "$settings"
    n=0
    for node in $CLUSTER_NODES; do
        n=$((n + 1))
        echo "cluster_formation.classic_config.nodes.$n = rabbit@$node" >> "$settings"
    done
fi
export RABBITMQ_CONFIG_FILE="$settings"

# Nodes and command-line tools authenticate each other with it.
cookie=/var/lib/rabbitmq/.erlang.cookie
rm -f "$cookie"
cp /keys/cookie "$cookie"
chmod 400 "$cookie"

exec docker-entrypoint.sh rabbitmq-server
