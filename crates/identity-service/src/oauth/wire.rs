//! The forms of clients as the OpenAPI document describes them. Handlers read them as [`super::form::OAuthForm`].

use utoipa::ToSchema;

/// The token to introspect, and the client's credentials.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct IntrospectionRequest {
    token: String,
    /// `access_token` or `refresh_token`; not needed.
    token_type_hint: Option<String>,
    /// Required unless the client authenticates with `Authorization: Basic`.
    client_id: Option<String>,
    /// Required unless the client authenticates with `Authorization: Basic`.
    client_secret: Option<String>,
}

/// The token to revoke, and the client's credentials.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct RevocationRequest {
    token: String,
    /// `access_token` or `refresh_token`; not needed.
    token_type_hint: Option<String>,
    /// Required unless the client authenticates with `Authorization: Basic`.
    client_id: Option<String>,
    /// Required for a confidential client, unless it authenticates with `Authorization: Basic`.
    client_secret: Option<String>,
}

/// A logout request (OpenID Connect RP-Initiated Logout section 2).
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct LogoutForm {
    /// An ID token that the client received; it may have expired.
    id_token_hint: Option<String>,
    /// Must be the audience of `id_token_hint`, if both are given.
    client_id: Option<String>,
    /// Must equal a registered URI; on loopback any port is allowed. Requires `id_token_hint` or `client_id`.
    post_logout_redirect_uri: Option<String>,
    /// Returned unchanged.
    state: Option<String>,
}

/// The parameters of an authorization request in a form: the same as those of GET, which the browser is redirected to and
/// which validates all but `client_id`.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct AuthorizationForm {
    client_id: String,
    response_type: Option<String>,
    redirect_uri: Option<String>,
    response_mode: Option<String>,
    scope: Option<String>,
    state: Option<String>,
    nonce: Option<String>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
}
