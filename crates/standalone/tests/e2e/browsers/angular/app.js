// As the README of angular-oauth2-oidc has it, without components: the page's own buttons call the service.
import '@angular/compiler'
import { provideHttpClient } from '@angular/common/http'
import { createApplication } from '@angular/platform-browser'
import { OAuthService, provideOAuthClient } from 'angular-oauth2-oidc'
import { CLIENT_ID, ISSUER } from './config.js'

const config = {
  issuer: ISSUER,
  clientId: CLIENT_ID,
  redirectUri: `${location.origin}/`,
  postLogoutRedirectUri: `${location.origin}/`,
  responseType: 'code',
  scope: 'openid profile email offline_access',
}
const application = await createApplication({
  providers: [provideHttpClient(), provideOAuthClient()],
})
const oauth = application.injector.get(OAuthService)
const element = (id) => document.getElementById(id)
const show = (text) => (element('status').textContent = text)
element('in').onclick = () => oauth.initCodeFlow()
element('renew').onclick = async () => {
  const before = oauth.getAccessToken()
  await oauth.refreshToken()
  show(`Renewed: ${oauth.getAccessToken() !== before}`)
}
element('out').onclick = () => oauth.logOut()
oauth.configure(config)
await oauth.loadDiscoveryDocumentAndTryLogin()
if (oauth.hasValidIdToken()) {
  const { info } = await oauth.loadUserProfile()
  show(`Signed in: ${info.name} ${info.email}`)
} else {
  show('Signed out')
}
