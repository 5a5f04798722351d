// As https://nodered.org/docs/user-guide/runtime/securing-node-red has it, with the strategy passport-openidconnect.
const { HOLDFAST, BASE_URL, CLIENT_ID, CLIENT_SECRET, DATA, PORT } = process.env

module.exports = {
  uiHost: '127.0.0.1',
  uiPort: PORT,
  userDir: DATA,
  adminAuth: {
    type: 'strategy',
    strategy: {
      name: 'openidconnect',
      label: 'Sign in with Holdfast',
      icon: 'fa-lock',
      strategy: require('passport-openidconnect').Strategy,
      options: {
        issuer: HOLDFAST,
        authorizationURL: `${HOLDFAST}/api/oauth/authorize`,
        tokenURL: `${HOLDFAST}/api/oauth/token`,
        userInfoURL: `${HOLDFAST}/api/oauth/userinfo`,
        clientID: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        callbackURL: `${BASE_URL}/auth/strategy/callback`,
        scope: ['profile', 'email'],
        verify: (issuer, profile, done) => done(null, profile),
      },
    },
    users: [{ username: 'mia', permissions: ['*'] }],
  },
}
