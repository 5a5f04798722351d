// As the quick start of https://github.com/auth0/express-openid-connect has it.
import express from 'express'
import openid from 'express-openid-connect'

const app = express()
const config = {
  issuerBaseURL: process.env.HOLDFAST,
  baseURL: process.env.BASE_URL,
  clientID: process.env.CLIENT_ID,
  secret: 'a long random string, only for this test',
  idpLogout: true,
}
if (process.env.ALGORITHM !== 'RS256') config.idTokenSigningAlg = process.env.ALGORITHM
if (process.env.RESPONSE_TYPE === 'code') {
  config.clientSecret = process.env.CLIENT_SECRET
  config.authorizationParams = { response_type: 'code', scope: 'openid profile email' }
}
app.use(openid.auth(config))
app.get('/', (request, response) => response.json(request.oidc.user))
app.listen(process.env.PORT, '127.0.0.1')
