use chrono::{DateTime, Utc};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{OAuthClient, WithSecret};

/// A client as an administrator sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientBody {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// Whether it has no secret.
    pub(crate) is_public: bool,
    pub(crate) redirect_uris: Vec<String>,
    /// What it may ask for, and gets when it asks for nothing; with spaces between.
    pub(crate) scope: String,
    /// Whether it is the product's own, so that nobody is asked for consent, unless it has no secret and answers go to
    /// a loopback address or a scheme of its own.
    pub(crate) is_first_party: bool,
    /// Whether it may introspect tokens of others.
    pub(crate) may_introspect_any: bool,
    /// ES256 or RS256.
    pub(crate) id_token_signed_response_alg: &'static str,
    /// What it may come to the token endpoint with.
    pub(crate) grant_types: Vec<&'static str>,
    /// Whether the configuration file says what it is; it is changed only there then.
    pub(crate) is_configured: bool,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    /// Whether it gets codes only for a challenge made with S256, even where not every client has to send one.
    pub(crate) requires_pkce_s256: bool,
    /// What it really uses: the method of the challenge for which it last got a code, S256 or plain, or none; null before
    /// the first code.
    pub(crate) pkce_seen: Option<String>,
}

/// One client.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientResponse {
    pub(crate) client: OAuthClientBody,
}

/// A client that was given a secret just now.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientSecretResponse {
    pub(crate) client_id: String,
    /// Null for a public client. It cannot be told again.
    pub(crate) client_secret: Option<String>,
    pub(crate) client: OAuthClientBody,
}

/// All clients, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientList {
    pub(crate) clients: Vec<OAuthClientBody>,
}

/// A new client.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct CreateOAuthClientRequest {
    /// 1 to 100 characters; shown to people who are asked for their consent.
    pub(crate) name: String,
    /// Where answers may be sent, to the letter; on loopback any port. None for clients that use the device
    /// flow alone.
    #[serde(default)]
    pub(crate) redirect_uris: Vec<String>,
    /// Whether it can keep no secret, as a program on a user's machine.
    #[serde(default)]
    pub(crate) is_public: bool,
    /// Whether it is the product's own, so that nobody is asked for consent, unless it has no secret and answers go to
    /// a loopback address or a scheme of its own.
    #[serde(default)]
    pub(crate) is_first_party: bool,
    /// What it may ask for, and gets when it asks for nothing, with spaces between; if not given, `openid profile email`,
    /// or every scope for a first-party client. Only first-party clients may have `account`.
    pub(crate) scope: Option<String>,
    /// Whether it may introspect tokens of others.
    #[serde(default)]
    pub(crate) may_introspect_any: bool,
    /// ES256 (the default) or RS256.
    pub(crate) id_token_signed_response_alg: Option<String>,
    /// Whether it gets codes only for a challenge made with S256.
    #[serde(default)]
    pub(crate) requires_pkce_s256: bool,
    /// What it may come to the token endpoint with: `authorization_code` and `refresh_token` when not given; the device
    /// flow takes `urn:ietf:params:oauth:grant-type:device_code`.
    #[serde(default)]
    pub(crate) grant_types: Vec<String>,
}

impl From<OAuthClient> for OAuthClientBody {
    fn from(client: OAuthClient) -> Self {
        Self {
            is_public: client.is_public(),
            client_id: client.id,
            name: client.name,
            redirect_uris: client.redirect_uris,
            scope: client.scope.to_string(),
            is_first_party: client.is_first_party,
            may_introspect_any: client.may_introspect_any,
            id_token_signed_response_alg: client.id_token_alg.as_str(),
            grant_types: client.grant_types.names(),
            is_configured: client.is_configured,
            created_at: client.created_at.and_utc(),
            updated_at: client.updated_at.and_utc(),
            requires_pkce_s256: client.requires_pkce_s256,
            pkce_seen: client.pkce_seen,
        }
    }
}

impl From<WithSecret> for OAuthClientSecretResponse {
    fn from(made: WithSecret) -> Self {
        Self {
            client_id: made.client.id.clone(),
            client_secret: made.secret.map(|it| it.expose_secret().to_owned()),
            client: made.client.into(),
        }
    }
}
