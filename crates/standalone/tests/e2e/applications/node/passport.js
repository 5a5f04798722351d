// As https://www.passportjs.org/packages/passport-openidconnect has it.
import express from 'express'
import session from 'express-session'
import passport from 'passport'
import OpenIDConnectStrategy from 'passport-openidconnect'

const { HOLDFAST, BASE_URL, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
passport.use(
  new OpenIDConnectStrategy(
    {
      issuer: HOLDFAST,
      authorizationURL: `${HOLDFAST}/api/oauth/authorize`,
      tokenURL: `${HOLDFAST}/api/oauth/token`,
      userInfoURL: `${HOLDFAST}/api/oauth/userinfo`,
      clientID: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      callbackURL: `${BASE_URL}/cb`,
      scope: ['profile', 'email'],
    },
    (issuer, profile, done) => done(null, profile),
  ),
)
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

const app = express()
app.use(session({ secret: 'only for this test', resave: false, saveUninitialized: false }))
app.use(passport.session())
app.get('/login', passport.authenticate('openidconnect'))
app.get('/cb', passport.authenticate('openidconnect', { failureMessage: true, successRedirect: '/' }))
app.get('/', (request, response) => response.json(request.user))
app.listen(PORT, '127.0.0.1')
