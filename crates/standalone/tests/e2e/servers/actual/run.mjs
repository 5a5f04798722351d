// The settings of https://actualbudget.org/docs/config/oauth-auth.
const { HOLDFAST, BASE_URL, CLIENT_ID, CLIENT_SECRET, DATA, PORT } = process.env
Object.assign(process.env, {
  ACTUAL_HOSTNAME: '127.0.0.1',
  ACTUAL_PORT: PORT,
  ACTUAL_DATA_DIR: DATA,
  ACTUAL_OPENID_DISCOVERY_URL: HOLDFAST,
  ACTUAL_OPENID_CLIENT_ID: CLIENT_ID,
  ACTUAL_OPENID_CLIENT_SECRET: CLIENT_SECRET,
  ACTUAL_OPENID_SERVER_HOSTNAME: BASE_URL,
})
await import('@actual-app/sync-server/build/bin/actual-server.js')
