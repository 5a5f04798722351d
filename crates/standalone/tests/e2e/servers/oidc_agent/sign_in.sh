# As https://indigo-dc.gitbook.io/oidc-agent/user/oidc-gen has it.
set -e
HOME=$(mktemp -d)
export HOME OIDC_SOCK="$HOME/agent" OIDC_ENCRYPTION_PW="only for this test"
oidc-agent --console --socket-path="$OIDC_SOCK" > /dev/null 2>&1 &
agent=$!
trap 'kill $agent; rm -r "$HOME"' EXIT
until [ -S "$OIDC_SOCK" ]; do sleep 0.1; done

oidc-gen holdfast --manual --iss "$HOLDFAST" --client-id "$CLIENT_ID" --client-secret "$CLIENT_SECRET" \
    --scope "openid profile email offline_access" --redirect-uri "$REDIRECT_URI" --flow code \
    --cert-path "$SSL_CERT_FILE" --prompt none --no-url-call --no-scheme --confirm-yes --pw-env 2>&1 |
    sed --unbuffered 's/^https:/Open in a browser: https:/'

# Each token is another one, which a refresh has brought.
for _ in 1 2; do
    token=$(oidc-token --force-new holdfast)
    echo "User: $(curl --silent --cacert "$SSL_CERT_FILE" --oauth2-bearer "$token" "$HOLDFAST/api/oauth/userinfo")"
done
