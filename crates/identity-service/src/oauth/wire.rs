//! The forms that clients post, for the description of the area; they are read as [`super::form::OAuthForm`].

use utoipa::ToSchema;

/// A token, and who asks about it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct IntrospectionRequest {
    token: String,
    /// `access_token` or `refresh_token`; not needed.
    token_type_hint: Option<String>,
    /// Unless the client authenticates in the header.
    client_id: Option<String>,
    /// Unless the client authenticates in the header.
    client_secret: Option<String>,
}

/// A token whose session is to end, and who wishes so.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the shape is described here and read as a form")]
pub(crate) struct RevocationRequest {
    token: String,
    /// `access_token` or `refresh_token`; not needed.
    token_type_hint: Option<String>,
    /// Unless the client authenticates in the header.
    client_id: Option<String>,
    /// For a client that has one, unless it authenticates in the header.
    client_secret: Option<String>,
}
