#!/bin/sh
# Makes the folder with the secrets of deploy/compose.production.yml. Existing files stay as they are.
#
# Without signing-key, everybody is signed out; without shared-key, the addresses of all chats are lost. Keep copies.
set -eu

folder=${1:-secrets}
umask 077
mkdir -p "$folder"
for name in signing-key shared-key; do
    [ -e "$folder/$name" ] || head -c 32 /dev/urandom | base64 > "$folder/$name"
done
[ -e "$folder/smtp-url" ] || echo "smtps://USER:PASSWORD@mail.example.com:465" > "$folder/smtp-url"
# Old keys during a key change, separated by commas.
for name in signing-key-old shared-key-old; do
    [ -e "$folder/$name" ] || : > "$folder/$name"
done
# Only for you and the engine.
chmod 700 "$folder"
echo "secrets.sh: put the mail server into $folder/smtp-url" >&2
