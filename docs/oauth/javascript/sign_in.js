// Signs a user in with Holdfast: the authorization code flow with PKCE.
//
// A web application does the same in two handlers, one that redirects to `address` and one behind
// `redirect_uri`; this program listens on the user's machine for the redirect.

import http from 'node:http'
import { once } from 'node:events'
import * as client from 'openid-client'

const { HOLDFAST, CLIENT_ID, CLIENT_SECRET } = process.env
const issuer = new URL(HOLDFAST)
// Plain http is for trials on one machine.
const trying = issuer.protocol === 'http:' ? { execute: [client.allowInsecureRequests] } : undefined

// Discover the endpoints.
const config = await client.discovery(issuer, CLIENT_ID, CLIENT_SECRET, undefined, trying)
client.enableNonRepudiationChecks(config) // also verifies the ID token's signature

// Send the user to Holdfast. In a web application, `redirect_uri` is a fixed https address.
const listener = http.createServer().listen(0, '127.0.0.1')
await once(listener, 'listening')
const redirect_uri = `http://127.0.0.1:${listener.address().port}/callback`
const pkceCodeVerifier = client.randomPKCECodeVerifier()
const expectedState = client.randomState()
const expectedNonce = client.randomNonce()
const address = client.buildAuthorizationUrl(config, {
  redirect_uri,
  scope: 'openid profile email teams sessions:read',
  code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
  state: expectedState,
  nonce: expectedNonce,
})
console.log('Open in a browser:', address.href)

// Holdfast sends the user back with a code, or with an error such as access_denied.
const [request, response] = await once(listener, 'request')
response.end('Signed in. You can close this window.')
listener.close()
const tokens = await client.authorizationCodeGrant(config, new URL(request.url, redirect_uri), {
  pkceCodeVerifier,
  expectedState,
  expectedNonce,
})
console.log('Granted:', tokens.scope)

// Read the claims. `sub` is the account's id and never changes; the username can.
const { sub, preferred_username } = tokens.claims()
console.log('Id token:', sub, preferred_username)
const user = await client.fetchUserInfo(config, tokens.access_token, sub)
console.log('User:', user.preferred_username)

// Call the API with the access token.
const reply = await client.fetchProtectedResource(
  config,
  tokens.access_token,
  new URL('/api/teams', issuer),
  'GET',
)
console.log('Teams:', (await reply.json()).teams.length)

// A refresh token works once. Store the new one.
const next = await client.refreshTokenGrant(config, tokens.refresh_token)
console.log('Refreshed:', next.scope)

// A resource server introspects the tokens that it receives.
let seen = await client.tokenIntrospection(config, next.access_token)
console.log('Active:', seen.active, seen.username)

// Sign out: revoking either token ends the whole grant.
await client.tokenRevocation(config, next.refresh_token)
seen = await client.tokenIntrospection(config, next.access_token)
console.log('Active:', seen.active)
