// The whole flow with oauth4webapi, which refuses every response that does not follow its RFC to the letter:
// media types, members and their types, `iss`, `at_hash`, `Cache-Control`, `WWW-Authenticate`.

import http from 'node:http'
import { once } from 'node:events'
import * as oauth from 'oauth4webapi'

const { HOLDFAST, CLIENT_ID, CLIENT_SECRET, ALGORITHM } = process.env
const issuer = new URL(HOLDFAST)
const client = {
  client_id: CLIENT_ID,
  id_token_signed_response_alg: ALGORITHM,
  require_auth_time: true,
}
const authentication = CLIENT_SECRET ? oauth.ClientSecretBasic(CLIENT_SECRET) : oauth.None()
const scope = 'openid profile email teams offline_access'

// Both discovery documents describe the same server.
const discover = async (algorithm) =>
  oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm }))
const as = await discover('oidc')
const plain = await discover('oauth2')
for (const [name, value] of Object.entries(plain)) {
  if (JSON.stringify(as[name]) !== JSON.stringify(value)) throw new Error(`${name} differs`)
}
if (!as.authorization_response_iss_parameter_supported) throw new Error('no iss')

const listener = http.createServer().listen(0, '127.0.0.1')
await once(listener, 'listening')
const redirect_uri = `http://127.0.0.1:${listener.address().port}/callback`
const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()
const nonce = oauth.generateRandomNonce()
const address = new URL(as.authorization_endpoint)
address.search = new URLSearchParams({
  client_id: CLIENT_ID,
  response_type: 'code',
  redirect_uri,
  scope,
  state,
  nonce,
  code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
  max_age: '3600',
})
console.log('Open in a browser:', address.href)
const [request, response] = await once(listener, 'request')
response.end('Signed in.')
listener.close()
console.log('Discovered:', as.issuer)

const callback = oauth.validateAuthResponse(as, client, new URL(request.url, redirect_uri), state)
let reply = await oauth.authorizationCodeGrantRequest(
  as,
  client,
  authentication,
  callback,
  redirect_uri,
  verifier,
)
const signed = reply.clone()
const tokens = await oauth.processAuthorizationCodeResponse(as, client, reply, {
  expectedNonce: nonce,
  maxAge: 3600,
  requireIdToken: true,
})
await oauth.validateApplicationLevelSignature(as, reply)
if (!signed.headers.get('cache-control')?.includes('no-store')) throw new Error('it may be kept')
const claims = oauth.getValidatedIdTokenClaims(tokens)
console.log('Id token:', claims.sub, claims.preferred_username)

reply = await oauth.userInfoRequest(as, client, tokens.access_token)
const user = await oauth.processUserInfoResponse(as, client, claims.sub, reply)
console.log('User:', user.preferred_username)

reply = await oauth.refreshTokenGrantRequest(as, client, authentication, tokens.refresh_token)
const next = await oauth.processRefreshTokenResponse(as, client, reply)
console.log('Refreshed:', next.scope)

if (CLIENT_SECRET) {
  reply = await oauth.introspectionRequest(as, client, authentication, next.access_token)
  const seen = await oauth.processIntrospectionResponse(as, client, reply)
  if (!seen.active || seen.client_id !== CLIENT_ID) throw new Error('not active')
  console.log('Active:', seen.active, seen.username)
}

// A code works once, and its replay revokes the tokens that it gave.
reply = await oauth.authorizationCodeGrantRequest(
  as,
  client,
  authentication,
  callback,
  redirect_uri,
  verifier,
)
try {
  await oauth.processAuthorizationCodeResponse(as, client, reply)
  throw new Error('a code worked twice')
} catch (error) {
  if (!(error instanceof oauth.ResponseBodyError)) throw error
  console.log('Replayed:', error.error)
}
reply = await oauth.userInfoRequest(as, client, next.access_token)
try {
  await oauth.processUserInfoResponse(as, client, claims.sub, reply)
  throw new Error('the tokens of a replayed code still work')
} catch (error) {
  if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error
  console.log('Challenged:', error.cause[0].parameters.error)
}

reply = await oauth.revocationRequest(as, client, authentication, next.refresh_token)
await oauth.processRevocationResponse(reply)
console.log('Revoked')

// The device flow, up to the first poll, before the user has answered.
reply = await oauth.deviceAuthorizationRequest(as, client, authentication, { scope: 'profile' })
const device = await oauth.processDeviceAuthorizationResponse(as, client, reply)
reply = await oauth.deviceCodeGrantRequest(as, client, authentication, device.device_code)
try {
  await oauth.processDeviceCodeResponse(as, client, reply)
  throw new Error('nobody had allowed it')
} catch (error) {
  if (!(error instanceof oauth.ResponseBodyError)) throw error
  console.log('Device:', error.error)
}
