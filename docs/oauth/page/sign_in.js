// Signs a user in from a page without a server. Serve this folder at the address that the client is registered with.
import { CLIENT_ID, ISSUER } from './config.js'

const redirect_uri = `${location.origin}/`
let tokens

// Discover the endpoints.
const discovery = await fetch(`${ISSUER}/.well-known/openid-configuration`)
const metadata = await discovery.json()

// Send the user to Holdfast. Only this tab knows the verifier, so nobody else can use the code.
async function signIn() {
  const [state, nonce, code_verifier] = [random(), random(), random()]
  sessionStorage.setItem('request', JSON.stringify({ state, nonce, code_verifier }))
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri,
    scope: 'openid profile email',
    state,
    nonce,
    code_challenge: base64url(await sha256(code_verifier)),
    code_challenge_method: 'S256',
  })
  location.assign(`${metadata.authorization_endpoint}?${query}`)
}

// Holdfast sends the user back with a code, or with an error such as access_denied.
async function finish(answer) {
  const request = JSON.parse(sessionStorage.getItem('request') ?? '{}')
  sessionStorage.removeItem('request')
  history.replaceState(null, '', redirect_uri)
  if (answer.get('state') !== request.state || answer.get('iss') !== metadata.issuer) {
    throw new Error('this response does not match the request')
  }
  if (answer.has('error')) throw new Error(answer.get('error'))
  await ask({
    grant_type: 'authorization_code',
    code: answer.get('code'),
    redirect_uri,
    code_verifier: request.code_verifier,
  })
  // The ID token came directly from Holdfast, so its signature need not be checked.
  if (claims(tokens.id_token).nonce !== request.nonce) throw new Error('the ID token is for another request')
}

// Exchange a code or a refresh token. A refresh token works once: keep the new one.
async function ask(grant) {
  const body = new URLSearchParams({ client_id: CLIENT_ID, ...grant })
  const response = await fetch(metadata.token_endpoint, { method: 'POST', body })
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error)
  tokens = answer
}

// Read the claims about the user.
async function user() {
  const headers = { Authorization: `Bearer ${tokens.access_token}` }
  const response = await fetch(metadata.userinfo_endpoint, { headers })
  if (!response.ok) throw new Error((await response.json()).error)
  return response.json()
}

// Sign out: revoking either token ends the whole grant.
async function signOut() {
  const body = new URLSearchParams({ client_id: CLIENT_ID, token: tokens.refresh_token })
  await fetch(metadata.revocation_endpoint, { method: 'POST', body })
}

const base64url = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)))
const sha256 = async (text) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
const claims = (token) =>
  JSON.parse(atob(token.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')))

const element = (id) => document.getElementById(id)
function show(text) {
  element('status').textContent = text
  element('sign-in').hidden = Boolean(tokens)
  element('refresh').hidden = element('sign-out').hidden = !tokens
}

element('sign-in').onclick = signIn
element('refresh').onclick = async () => {
  await ask({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })
  show(`Refreshed for ${(await user()).name}`)
}
element('sign-out').onclick = async () => {
  await signOut()
  const error = await user().catch((error) => error.message)
  tokens = undefined
  show(`Signed out: ${error}`)
}

const answer = new URLSearchParams(location.search)
try {
  if (answer.has('state')) await finish(answer)
  show(tokens ? `Signed in as ${(await user()).name}` : 'Signed out')
} catch (error) {
  show(`Not signed in: ${error.message}`)
}
