use auth_types::wire::User;
use serde::Serialize;
use utoipa::ToSchema;

/// The tokens of a client.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: String,
    /// Present if the client has the grant type `refresh_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// The lifetime of the access token, in seconds.
    #[schema(example = 2_592_000)]
    pub(crate) expires_in: i64,
    pub(crate) user: User,
    #[schema(example = "Bearer")]
    pub(crate) token_type: &'static str,
    /// The scopes of the access token, separated by spaces.
    #[schema(example = "openid profile")]
    pub(crate) scope: String,
    /// A JWT that tells the client who signed in; present with the scope `openid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_token: Option<String>,
}

/// The form of a token request. A confidential client authenticates with `Authorization: Basic` or with `client_secret`. A
/// public client sends its `client_id`.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "describes a form that is read parameter by parameter"
)]
pub(crate) struct TokenRequest {
    /// `authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:device_code`.
    grant_type: String,
    client_id: Option<String>,
    #[schema(format = Password)]
    client_secret: Option<String>,
    /// The authorization code, for `authorization_code`.
    code: Option<String>,
    /// The redirect URI to which the code was sent, for `authorization_code`.
    redirect_uri: Option<String>,
    /// For `authorization_code`: required if the authorization request had a `code_challenge`, refused if not.
    code_verifier: Option<String>,
    /// The refresh token, for `refresh_token`.
    refresh_token: Option<String>,
    /// For `refresh_token`: fewer scopes for this access token.
    scope: Option<String>,
    /// The device code, for the device flow.
    device_code: Option<String>,
}
