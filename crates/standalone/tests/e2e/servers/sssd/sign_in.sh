# Calls oidc_child as SSSD does for a domain with `id_provider = idp`.
set -e
sssd="$HOLDFAST_E2E_INSTALLED/servers/sssd/usr"
LD_LIBRARY_PATH=$(echo "$sssd"/lib/*/sssd)
export LD_LIBRARY_PATH

oidc_child() {
    "$sssd/libexec/sssd/oidc_child" --logger=stderr --issuer-url="$HOLDFAST" --client-id="$CLIENT_ID" \
        --ca-db="$SSL_CERT_FILE" --scope="openid profile" "$@"
}

begun=$(oidc_child --get-device-code)
field() { echo "$begun" | sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"; }
echo "Open in a browser: $(field verification_uri) and enter: $(field user_code)"
echo "User: $(echo "$begun" | head -1 | oidc_child --get-access-token --user-identifier-attribute=preferred_username)"
