#!/bin/sh
# Makes the folder with the secrets of deploy/compose.production.yml. What is there stays as it is.
#
# Whoever loses signing-key signs everybody out; whoever loses shared-key loses the addresses of all chats. Keep copies.
set -eu

folder=${1:-secrets}
umask 077
mkdir -p "$folder"
for name in signing-key shared-key; do
    [ -e "$folder/$name" ] || head -c 32 /dev/urandom | base64 > "$folder/$name"
done
[ -e "$folder/smtp-url" ] || echo "smtps://USER:PASSWORD@mail.example.com:465" > "$folder/smtp-url"
# The folder decides who reads them; inside the containers it is the service's own user, whom this machine does not know.
chmod 711 "$folder"
chmod 444 "$folder"/signing-key "$folder"/shared-key "$folder"/smtp-url
echo "secrets.sh: put the mail server into $folder/smtp-url" >&2
