// As https://authjs.dev/reference/express and https://authjs.dev/guides/configuring-oauth-providers have it.
import { ExpressAuth, getSession } from '@auth/express'
import express from 'express'

const config = {
  secret: 'only for this test, and long enough',
  trustHost: true,
  providers: [
    {
      id: 'holdfast',
      name: 'Holdfast',
      type: 'oidc',
      issuer: process.env.HOLDFAST,
      clientId: process.env.CLIENT_ID,
      clientSecret: process.env.CLIENT_SECRET,
      client: { id_token_signed_response_alg: process.env.ALGORITHM },
    },
  ],
}
const app = express()
app.use('/auth', ExpressAuth(config))
app.get('/', async (request, response) => response.json(await getSession(request, config)))
app.listen(process.env.PORT, '127.0.0.1')
