# Starts Dovecot, and Roundcube in PHP's own server.
set -e
here=$(dirname "$0")
IMAP_PORT=$((PORT - 10000))
export IMAP_PORT ROUNDCUBE_CONFIG_DIR="$DATA/config/"
mkdir "$ROUNDCUBE_CONFIG_DIR"
cp /etc/roundcube/defaults.inc.php /etc/roundcube/mimetypes.php "$here/config.inc.php" "$ROUNDCUBE_CONFIG_DIR"
introspection="https://$CLIENT_ID:$CLIENT_SECRET@${HOLDFAST#https://}/api/oauth/introspect"
# Dovecot's programs that read mail run as another user.
chmod 755 "$DATA"
for file in dovecot.conf dovecot-oauth2.conf.ext; do
    sed "s|INTROSPECTION_URL|$introspection|; s|SSL_CERT_FILE|$SSL_CERT_FILE|; s|DATA|$DATA|; s|IMAP_PORT|$IMAP_PORT|" \
        "$here/$file" > "$DATA/$file"
done
/usr/sbin/dovecot -F -c "$DATA/dovecot.conf" &
dovecot=$!
php -S "$LISTEN" -t /var/lib/roundcube/public_html &
php=$!
trap 'kill $php $dovecot' TERM
wait $php
wait $dovecot
