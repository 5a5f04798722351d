use auth_types::wire::User;
use serde::Serialize;
use utoipa::ToSchema;

/// The tokens that a client gets.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: String,
    /// For a client with the grant type `refresh_token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// Seconds.
    #[schema(example = 2_592_000)]
    pub(crate) expires_in: i64,
    pub(crate) user: User,
    #[schema(example = "Bearer")]
    pub(crate) token_type: &'static str,
    /// What the access token may be used for, with spaces between.
    #[schema(example = "openid profile")]
    pub(crate) scope: String,
    /// Who has signed in, as a JWT for the client; with scope `openid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_token: Option<String>,
}

/// What a client sends. It authenticates by `Authorization: Basic` or by `client_secret`; a public one names
/// itself by `client_id`.
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
    /// For `authorization_code`.
    code: Option<String>,
    /// For `authorization_code`: the one that the code was sent to.
    redirect_uri: Option<String>,
    /// For `authorization_code`: required when the request had a `code_challenge`, refused when not.
    code_verifier: Option<String>,
    /// For `refresh_token`.
    refresh_token: Option<String>,
    /// For `refresh_token`: less than before, for this access token.
    scope: Option<String>,
    /// For the device flow.
    device_code: Option<String>,
}
