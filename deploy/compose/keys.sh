#!/bin/sh
# Makes what the parts of docker-compose.yml authenticate and seal with: once, into the volumes under /keys, one for
# each part. What is there stays as it is. Volumes of the companions are filled when they come.
set -eu

secret() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }
password() { head -c 24 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'; }
# The volume, not the mode, decides who reads a file: the parts run under users of their own.
write() { rm -f "$1"; printf '%s\n' "$2" > "$1"; chmod 444 "$1"; }

# The dashboard's OAuth client. It follows the dashboard's address, to which sign-ins are sent over https or on
# this machine only; at any other the dashboard says that it takes https.
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

# What is written by a user that the image does not know.
if [ -d /keys/proxy ]; then
    chown 10001:10001 /keys/proxy
fi
if [ -d /keys/grafana ] && [ ! -s /keys/grafana/password ]; then
    write /keys/grafana/password "$(password)"
fi

# What deploy/compose.production.yml hands over stands before what was made here.
take_secrets() {
    given=/run/secrets
    if [ -e $given/signing-key ]; then write /keys/identity/signing-key "$(cat $given/signing-key)"; fi
    if [ -e $given/smtp-url ]; then write /keys/notifier/smtp-url "$(cat $given/smtp-url)"; fi
    if [ -e $given/shared-key ]; then
        for part in identity worksession notifier; do
            write "/keys/$part/shared-key" "$(cat $given/shared-key)"
        done
    fi
}

done_file=/keys/identity/.complete
if [ -e "$done_file" ]; then
    take_secrets
    echo "keys: already made"
    exit 0
fi

shared=$(secret)
write /keys/identity/signing-key "$(secret)"
write /keys/postgres/password "$(password)"
broker=$(password)
write /keys/rabbitmq/user.conf "default_user = holdfast
default_pass = $broker"
write /keys/rabbitmq/cookie "$(password)"

for part in identity worksession notifier; do
    database=$(password)
    write "/keys/postgres/$part" "$database"
    write "/keys/$part/database-url" "postgres://$part:$database@postgres:5432/$part"
    write "/keys/$part/broker-url" "amqp://holdfast:$broker@broker:5672"
    write "/keys/$part/shared-key" "$shared"
done

take_secrets
: > "$done_file"
echo "keys: made"
