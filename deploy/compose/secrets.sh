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
# Keys of before, while one is being changed; separated by commas.
for name in signing-key-old shared-key-old; do
    [ -e "$folder/$name" ] || : > "$folder/$name"
done
# Nobody but you and the engine.
chmod 700 "$folder"
echo "secrets.sh: put the mail server into $folder/smtp-url" >&2
