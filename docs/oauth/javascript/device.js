// Signs a user in on a device without a browser: the device flow (RFC 8628), with a public client.

import * as client from 'openid-client'

const { HOLDFAST, CLIENT_ID } = process.env
const issuer = new URL(HOLDFAST)
// Plain http is for trials on one machine.
const trying = issuer.protocol === 'http:' ? { execute: [client.allowInsecureRequests] } : undefined
const config = await client.discovery(issuer, CLIENT_ID, undefined, client.None(), trying)

const begun = await client.initiateDeviceAuthorization(config, {
  scope: 'openid profile sessions:read sessions:write',
})
console.log('Open in a browser:', begun.verification_uri, 'and enter:', begun.user_code)

const tokens = await client.pollDeviceAuthorizationGrant(config, begun)
console.log('Granted:', tokens.scope)
const user = await client.fetchUserInfo(config, tokens.access_token, client.skipSubjectCheck)
console.log('User:', user.preferred_username)
