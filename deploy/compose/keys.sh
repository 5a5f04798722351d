#!/bin/sh
# Makes the passwords and keys of docker-compose.yml once, in the volumes under /keys, one for each part. Existing files stay
# as they are. The volumes of a companion are filled when it is added.
set -eu

secret() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }
password() { head -c 24 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'; }
# The volume, not the mode, decides who can read a file: the parts run as different users. A file is replaced atomically.
write() {
    if [ -e "$1" ] && [ "$(cat "$1")" = "$2" ]; then return; fi
    printf '%s\n' "$2" > "$1.new"
    chmod 444 "$1.new"
    mv -f "$1.new" "$1"
}
fail() { echo "keys: $1" >&2; exit 1; }

if [ -e /keys/identity/.restoring ] && [ -z "${RESTORING:-}" ]; then
    fail "a restore was not finished; take the project down with its volumes, and restore again"
fi

# The dashboard's OAuth client. It depends on the dashboard's address, to which sign-ins are sent only over https or on this
# machine. At any other address, the dashboard reports that it requires https.
[ -s /keys/worksession/dashboard-secret ] || write /keys/worksession/dashboard-secret "$(password)"
case "$WORKSESSION_BASE_URL" in
    https://* | http://127.0.0.1 | http://127.0.0.1[:/]* | http://localhost | http://localhost[:/]*)
        write /keys/identity/clients.toml "[[identity.oauth_clients]]
client_id = \"holdfast-dashboard\"
name = \"Dashboard\"
client_secret = \"$(cat /keys/worksession/dashboard-secret)\"
redirect_uris = [\"${WORKSESSION_BASE_URL%/}/sign-in/callback\"]
first_party = true" ;;
    *) write /keys/identity/clients.toml "[identity]" ;;
esac

# Volumes whose writer is a user that this image does not know.
if [ -d /keys/proxy ]; then
    # The file keeps the engine from changing the owner of an empty volume back to that of the next image.
    : > /keys/proxy/.ours
    chown 10001:10001 /keys/proxy
fi
if [ -d /keys/grafana ] && [ ! -s /keys/grafana/password ]; then
    write /keys/grafana/password "$(password)"
fi

# The secrets of deploy/compose.production.yml take precedence over those made here. A key that opens data in the databases is
# replaced only if the old one is passed, too.
take_key() {
    [ -e "/run/secrets/$1" ] || return 0
    given=$(cat "/run/secrets/$1")
    old=$(cat "/run/secrets/$1-old")
    if [ -e "/keys/$2/$1" ] && [ "$(cat "/keys/$2/$1")" != "$given" ]; then
        case ",$old," in
        *",$(cat "/keys/$2/$1"),"*) ;;
        *) fail "secrets/$1 is not the key that this project has, which would lose what it opens. Keep the one it has:
    docker-compose exec $3 cat /keys/$1 > secrets/$1
or, to change it, put the one it has into secrets/$1-old" ;;
        esac
    fi
    write "/keys/$2/$1" "$given"
    write "/keys/$2/$1-old" "$old"
}
take_secrets() {
    take_key signing-key identity identity-service
    take_key shared-key identity identity-service
    take_key shared-key worksession worksession-service
    take_key shared-key notifier notifier
    if [ -e /run/secrets/smtp-url ]; then
        case $(cat /run/secrets/smtp-url) in
        *USER:PASSWORD@*) fail "secrets/smtp-url does not name your mail server yet" ;;
        esac
        write /keys/notifier/smtp-url "$(cat /run/secrets/smtp-url)"
    fi
    # Old keys are empty, unless a key was changed.
    for file in identity/signing-key identity/shared-key worksession/shared-key notifier/shared-key; do
        [ -e "/keys/$file-old" ] || write "/keys/$file-old" ""
    done
}

# A RabbitMQ user for each part, with the permissions in deploy/rabbitmq/definitions.json; one for inspecting dead letters;
# and one for third-party consumers.
for user in identity worksession notifier parked consumer; do
    [ -s "/keys/rabbitmq/$user" ] || write "/keys/rabbitmq/$user" "$(password)"
done
for part in identity worksession notifier; do
    write "/keys/$part/broker-url" "amqp://$part:$(cat "/keys/rabbitmq/$part")@broker:5672"
done

done_file=/keys/identity/.complete
if [ -e "$done_file" ]; then
    take_secrets
    echo "keys: already made"
    exit 0
fi

shared=$(secret)
write /keys/identity/signing-key "$(secret)"
write /keys/postgres/password "$(password)"
write /keys/rabbitmq/cookie "$(password)"

for part in identity worksession notifier; do
    database=$(password)
    write "/keys/postgres/$part" "$database"
    write "/keys/$part/database-url" "postgres://$part:$database@postgres:5432/$part"
    write "/keys/$part/shared-key" "$shared"
done

if [ -e /run/secrets/signing-key ]; then
    rm -f /keys/identity/signing-key /keys/*/shared-key
fi
take_secrets
sync
: > "$done_file"
echo "keys: made"
