cd "$(dirname "$0")" || exit
export NEXTAUTH_URL="$BASE_URL" NEXTAUTH_SECRET="only for this test" NEXT_TELEMETRY_DISABLED=1
exec "$NODE" node_modules/next/dist/bin/next dev --hostname 127.0.0.1 --port "$PORT"
