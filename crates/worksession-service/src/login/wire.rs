use serde::{Deserialize, Serialize};
use service_kit::config::SecretText;
use utoipa::ToSchema;

use crate::error::Error;

/// The credentials of a sign-in.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    /// The username, ignoring case. An e-mail address is not accepted.
    #[schema(value_type = String)]
    username: Option<String>,
    #[schema(required, value_type = String, format = Password)]
    password: Option<SecretText>,
    /// The second factor, if the account has one: a code of the authenticator app, or a recovery code.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretText>,
}

/// The request body for the identity service.
#[derive(Serialize)]
pub(super) struct Credentials<'a> {
    username: &'a str,
    password: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    totp_code: Option<&'a str>,
}

impl<'a> TryFrom<&'a LoginRequest> for Credentials<'a> {
    type Error = Error;

    fn try_from(request: &'a LoginRequest) -> Result<Self, Error> {
        let username = request.username.as_deref();
        let password = request.password.as_ref().map(SecretText::expose);
        Ok(Self {
            username: username.ok_or_else(|| Error::invalid("username is required"))?,
            password: password.ok_or_else(|| Error::invalid("password is required"))?,
            totp_code: request.totp_code.as_ref().map(SecretText::expose),
        })
    }
}
