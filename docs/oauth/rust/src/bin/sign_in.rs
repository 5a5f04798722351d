//! Signs a user in with Holdfast: the authorization code flow with PKCE.
//!
//! A web application does the same in two handlers, one that redirects to `address` and one behind
//! `redirect_uri`; this program listens on the user's machine for the redirect.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use openidconnect::core::{
    CoreAuthDisplay, CoreAuthenticationFlow, CoreClaimName, CoreClaimType, CoreClient,
    CoreClientAuthMethod, CoreGrantType, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm, CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
    CoreUserInfoClaims,
};
use openidconnect::{
    AccessTokenHash, AdditionalProviderMetadata, AuthorizationCode, ClientId, ClientSecret,
    CsrfToken, IntrospectionUrl, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    ProviderMetadata, RedirectUrl, RevocationUrl, Scope, TokenIntrospectionResponse, TokenResponse,
    url::Url,
};
use serde::{Deserialize, Serialize};

/// Endpoints in Holdfast's metadata that openidconnect does not read by itself.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Endpoints {
    introspection_endpoint: IntrospectionUrl,
    revocation_endpoint: RevocationUrl,
}

impl AdditionalProviderMetadata for Endpoints {}

type Holdfast = ProviderMetadata<
    Endpoints,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;

fn main() -> Result<(), Box<dyn Error>> {
    let issuer = IssuerUrl::new(env::var("HOLDFAST")?)?;
    let client_id = ClientId::new(env::var("CLIENT_ID")?);
    let client_secret = ClientSecret::new(env::var("CLIENT_SECRET")?);
    let http = reqwest::blocking::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()?;

    // Discover the endpoints.
    let holdfast = Holdfast::discover(&issuer, &http)?;
    let endpoints = holdfast.additional_metadata().clone();

    // Send the user to Holdfast. In a web application, the redirect URI is a fixed https address.
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let redirect_uri = format!("http://{}/callback", listener.local_addr()?);
    let client = CoreClient::from_provider_metadata(holdfast, client_id, Some(client_secret))
        .set_redirect_uri(RedirectUrl::new(redirect_uri)?)
        .set_introspection_url(endpoints.introspection_endpoint)
        .set_revocation_url(endpoints.revocation_endpoint);
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (address, state, nonce) = client
        .authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            CsrfToken::new_random,
            Nonce::new_random,
        )
        .add_scopes(["profile", "email", "teams", "sessions:read"].map(|s| Scope::new(s.into())))
        .set_pkce_challenge(challenge)
        .url();
    println!("Open in a browser: {address}");

    // Holdfast sends the user back with a code, or with an error such as access_denied.
    let mut answer = answer(&listener)?;
    let mut take = |name: &str| {
        answer
            .remove(name)
            .ok_or(format!("no {name} in the response"))
    };
    if take("state")? != *state.secret() || take("iss")? != issuer.as_str() {
        return Err("this response does not match the request".into());
    }
    let tokens = client
        .exchange_code(AuthorizationCode::new(take("code")?))?
        .set_pkce_verifier(verifier)
        .request(&http)?;
    println!("Granted: {:?}", tokens.scopes());

    // Read the claims. `sub` is the account's id and never changes; the username can.
    let id_token = tokens.id_token().ok_or("no id token")?;
    let id_verifier = client.id_token_verifier();
    let claims = id_token.claims(&id_verifier, &nonce)?;
    let hash = AccessTokenHash::from_token(
        tokens.access_token(),
        id_token.signing_alg()?,
        id_token.signing_key(&id_verifier)?,
    )?;
    if claims.access_token_hash() != Some(&hash) {
        return Err("the access token does not match the ID token".into());
    }
    let name = claims.preferred_username().ok_or("no name")?;
    println!("Id token: {} {}", **claims.subject(), **name);
    let user: CoreUserInfoClaims = client
        .user_info(
            tokens.access_token().clone(),
            Some(claims.subject().clone()),
        )?
        .request(&http)?;
    println!("User: {}", **user.preferred_username().ok_or("no name")?);

    // Call the API with the access token.
    let teams = http
        .get(format!("{}/api/teams", issuer.as_str()))
        .bearer_auth(tokens.access_token().secret())
        .send()?;
    println!("Teams: {}", teams.error_for_status()?.text()?);

    // A refresh token works once. Store the new one.
    let refresh_token = tokens.refresh_token().ok_or("no refresh token")?;
    let tokens = client
        .exchange_refresh_token(refresh_token)?
        .request(&http)?;
    println!("Refreshed: {:?}", tokens.scopes());

    // A resource server introspects the tokens that it receives.
    let seen = client.introspect(tokens.access_token()).request(&http)?;
    println!(
        "Active: {} {}",
        seen.active(),
        seen.username().unwrap_or_default()
    );

    // Sign out: revoking either token ends the whole grant. openidconnect revokes over https only.
    let refresh_token = tokens.refresh_token().ok_or("no refresh token")?;
    client.revoke_token(refresh_token.into())?.request(&http)?;
    let seen = client.introspect(tokens.access_token()).request(&http)?;
    println!("Active: {}", seen.active());
    Ok(())
}

/// Receives the redirect from Holdfast.
fn answer(listener: &TcpListener) -> Result<HashMap<String, String>, Box<dyn Error>> {
    let (mut stream, _) = listener.accept()?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let path = line.split(' ').nth(1).ok_or("no request")?;
    let address = Url::parse("http://127.0.0.1")?.join(path)?;
    let text = "Signed in. You can close this window.";
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )?;
    Ok(address.query_pairs().into_owned().collect())
}
