// As https://www.better-auth.com/docs/plugins/generic-oauth has it, without a database.
import { betterAuth } from 'better-auth'
import { fromNodeHeaders, toNodeHandler } from 'better-auth/node'
import { genericOAuth } from 'better-auth/plugins'
import express from 'express'

const auth = betterAuth({
  baseURL: process.env.BASE_URL,
  secret: 'only for this test, and long enough',
  plugins: [
    genericOAuth({
      config: [
        {
          providerId: 'holdfast',
          clientId: process.env.CLIENT_ID,
          clientSecret: process.env.CLIENT_SECRET,
          discoveryUrl: `${process.env.HOLDFAST}/.well-known/openid-configuration`,
          scopes: ['openid', 'profile', 'email'],
        },
      ],
    }),
  ],
})
const app = express()
app.all('/api/auth/{*any}', toNodeHandler(auth))
app.get('/login', async (request, response) => {
  const begun = await auth.api.signInSocial({
    body: { provider: 'holdfast', callbackURL: '/' },
    asResponse: true,
  })
  response.setHeader('set-cookie', begun.headers.getSetCookie())
  response.redirect((await begun.json()).url)
})
app.get('/', async (request, response) => {
  response.json(await auth.api.getSession({ headers: fromNodeHeaders(request.headers) }))
})
app.listen(process.env.PORT, '127.0.0.1')
