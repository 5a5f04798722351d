use chrono::{DateTime, Utc};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::metadata::{ClientMetadata, GroupsClaim, ResponseType};
use super::model::{ClientWithSecret, OAuthClient};

/// An OAuth client as an administrator sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientBody {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// Whether it is a public client, which has no secret.
    pub(crate) is_public: bool,
    pub(crate) redirect_uris: Vec<String>,
    /// The scopes that it may request, and gets if it requests none; separated by spaces.
    pub(crate) scope: String,
    /// Whether it is a first-party client, for which no consent is asked. A public client still needs consent if its
    /// redirect URI is a loopback address or has a private-use scheme.
    pub(crate) is_first_party: bool,
    /// Whether it may introspect tokens that were not issued to it.
    pub(crate) may_introspect_any: bool,
    /// The algorithm that signs its ID tokens: `ES256` or `RS256`.
    pub(crate) id_token_signed_response_alg: &'static str,
    /// The grant types that it may use at the token endpoint.
    pub(crate) grant_types: Vec<&'static str>,
    /// Whether the configuration file defines it. It can then be changed only there.
    pub(crate) is_configured: bool,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    /// Whether it gets codes only with an `S256` code challenge, even if not every client needs one.
    pub(crate) requires_pkce_s256: bool,
    /// The code challenge method of its last code: `S256`, `plain`, or `none` for a code without a challenge. Null before
    /// the first code.
    pub(crate) pkce_seen: Option<String>,
    #[serde(flatten)]
    pub(crate) metadata: ClientMetadata,
}

/// An OAuth client.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientResponse {
    pub(crate) client: OAuthClientBody,
}

/// An OAuth client with a new secret.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientSecretResponse {
    pub(crate) client_id: String,
    /// The secret, which is never shown again. Null for a public client.
    pub(crate) client_secret: Option<String>,
    pub(crate) client: OAuthClientBody,
}

/// All OAuth clients, oldest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct OAuthClientList {
    pub(crate) clients: Vec<OAuthClientBody>,
}

/// The OAuth client to register.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct CreateOAuthClientRequest {
    /// 1 to 100 characters. The consent page shows it.
    pub(crate) name: String,
    /// The redirect URIs, compared exactly; a loopback address matches with any port. Empty for a client that uses only the
    /// device flow.
    #[serde(default)]
    pub(crate) redirect_uris: Vec<String>,
    /// Whether it is a public client, which cannot keep a secret, such as a program on a user's machine.
    #[serde(default)]
    pub(crate) is_public: bool,
    /// Whether it is a first-party client, for which no consent is asked. A public client still needs consent if its
    /// redirect URI is a loopback address or has a private-use scheme.
    #[serde(default)]
    pub(crate) is_first_party: bool,
    /// The scopes that it may request, and gets if it requests none; separated by spaces. The default is `openid profile
    /// email`, or every scope for a first-party client. Only first-party clients may have `account`.
    pub(crate) scope: Option<String>,
    /// Whether it may introspect tokens that were not issued to it.
    #[serde(default)]
    pub(crate) may_introspect_any: bool,
    /// The algorithm that signs its ID tokens: `RS256` (the default) or `ES256`.
    pub(crate) id_token_signed_response_alg: Option<String>,
    /// Whether it gets codes only with an `S256` code challenge.
    #[serde(default)]
    pub(crate) requires_pkce_s256: bool,
    /// The grant types that it may use; the default is `authorization_code` and `refresh_token`. The device flow needs
    /// `urn:ietf:params:oauth:grant-type:device_code`.
    #[serde(default)]
    pub(crate) grant_types: Vec<String>,
    #[serde(flatten)]
    pub(crate) metadata: ClientMetadata,
}

/// Changes to an OAuth client. Absent fields stay as they are; null sets the default of a new client. Whether the client is
/// public or first-party, and whether it may introspect all tokens, cannot be changed.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "describes a merge patch, which is applied by name"
)]
pub(crate) struct UpdateOAuthClientRequest {
    /// 1 to 100 characters. The consent page shows it.
    name: Option<String>,
    redirect_uris: Option<Vec<String>>,
    /// The scopes that it may request, separated by spaces. Its tokens lose at once what it may no longer request. Users are
    /// asked again only if it requests more than they have allowed.
    scope: Option<String>,
    /// The algorithm that signs its ID tokens: `RS256` or `ES256`.
    id_token_signed_response_alg: Option<String>,
    requires_pkce_s256: Option<bool>,
    grant_types: Option<Vec<String>>,
    client_uri: Option<String>,
    logo_uri: Option<String>,
    policy_uri: Option<String>,
    tos_uri: Option<String>,
    post_logout_redirect_uris: Option<Vec<String>>,
    backchannel_logout_uri: Option<String>,
    response_types: Option<Vec<ResponseType>>,
    groups_claim: Option<GroupsClaim>,
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
            metadata: client.metadata,
        }
    }
}

impl From<ClientWithSecret> for OAuthClientSecretResponse {
    fn from(made: ClientWithSecret) -> Self {
        Self {
            client_id: made.client.id.clone(),
            client_secret: made.secret.map(|it| it.expose_secret().to_owned()),
            client: made.client.into(),
        }
    }
}
