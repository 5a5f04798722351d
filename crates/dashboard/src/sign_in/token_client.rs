use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::{CONTENT_TYPE, USER_AGENT};
use reqwest::{RequestBuilder, StatusCode};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use service_kit::crypto::sha256;
use thiserror::Error;
use url::Url;
use url::form_urlencoded::Serializer;

use crate::api::{ClientError, ServiceClient};
use crate::settings::{DashboardSettings, OAuthClient};

/// The dashboard as an OAuth client.
#[derive(Debug)]
pub(crate) struct TokenClient {
    http: ServiceClient,
    client: OAuthClient,
    /// The authorization endpoint, to which browsers are sent.
    authorize: Url,
    /// The issuer that responses must name (RFC 9207).
    pub(super) issuer: String,
    redirect_uri: String,
}

/// The response to a code or a refresh token. It is secret, so it has no `Debug`.
#[derive(Deserialize)]
pub(super) struct Tokens {
    pub(super) access_token: String,
    pub(super) refresh_token: String,
    /// In seconds.
    pub(super) expires_in: i64,
    pub(super) user: User,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) username: String,
}

#[derive(Debug, Error)]
pub(crate) enum TokenError {
    /// The code or the refresh token is no longer valid.
    #[error("the grant is good no more")]
    Ended,
    /// The identity service does not know the client, or the client has another secret there.
    #[error("the identity service does not know this client, or its secret is another one")]
    UnknownClient,
    /// There was no response, or one that cannot be parsed.
    #[error("{0}")]
    Unavailable(String),
}

/// The browser on whose behalf the identity service is called. The list of sign-ins shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientContext {
    pub(crate) user_agent: Option<String>,
    pub(crate) address: Option<String>,
}

impl TokenClient {
    pub(crate) fn new(
        settings: &DashboardSettings,
        client: &OAuthClient,
        http: ServiceClient,
    ) -> Result<Self, ClientError> {
        Ok(Self {
            http,
            client: client.clone(),
            authorize: settings.account("/api/oauth/authorize").parse()?,
            issuer: settings.identity_public_url.clone(),
            redirect_uri: settings.redirect_uri(),
        })
    }

    /// Returns the address to which a browser goes to sign in.
    pub(super) fn authorize(&self, state: &str, verifier: &SecretString) -> Url {
        let challenge = URL_SAFE_NO_PAD.encode(sha256(verifier.expose_secret().as_bytes()));
        let mut address = self.authorize.clone();
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client.id)
            .append_pair("redirect_uri", &self.redirect_uri)
            .append_pair("state", state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        address
    }

    pub(super) async fn redeem(
        &self,
        code: &str,
        verifier: &SecretString,
        origin: &ClientContext,
    ) -> Result<Tokens, TokenError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect_uri),
            ("code_verifier", verifier.expose_secret()),
        ];
        self.tokens(&form, origin).await
    }

    pub(super) async fn refresh(
        &self,
        token: &SecretString,
        origin: &ClientContext,
    ) -> Result<Tokens, TokenError> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token.expose_secret()),
        ];
        self.tokens(&form, origin).await
    }

    /// Revokes a sign-in: both its tokens become invalid.
    pub(super) async fn revoke(
        &self,
        token: &SecretString,
        origin: &ClientContext,
    ) -> Result<(), TokenError> {
        let form = [("token", token.expose_secret())];
        let request = self.post("/api/oauth/revoke", &form, origin)?;
        let status = request.send().await.map_err(unavailable)?.status();
        match status.is_success() {
            true => Ok(()),
            false => Err(unavailable(format!("revoke answered {status}"))),
        }
    }

    async fn tokens(
        &self,
        form: &[(&str, &str)],
        origin: &ClientContext,
    ) -> Result<Tokens, TokenError> {
        let request = self.post("/api/oauth/token", form, origin)?;
        let response = request.send().await.map_err(unavailable)?;
        match response.status() {
            StatusCode::OK => response.json().await.map_err(unavailable),
            StatusCode::BAD_REQUEST => Err(TokenError::Ended),
            StatusCode::UNAUTHORIZED => Err(TokenError::UnknownClient),
            status => Err(unavailable(format!("the token endpoint answered {status}"))),
        }
    }

    fn post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        origin: &ClientContext,
    ) -> Result<RequestBuilder, TokenError> {
        let body = Serializer::new(String::new())
            .extend_pairs(form)
            .append_pair("client_id", &self.client.id)
            .append_pair("client_secret", self.client.secret.expose())
            .finish();
        let mut request = self.http.post_identity(path).map_err(unavailable)?;
        request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(agent) = &origin.user_agent {
            request = request.header(USER_AGENT, agent);
        }
        if let Some(address) = &origin.address {
            request = request.header("x-forwarded-for", address);
        }
        Ok(request.body(body))
    }
}

fn unavailable(cause: impl std::fmt::Display) -> TokenError {
    TokenError::Unavailable(cause.to_string())
}
