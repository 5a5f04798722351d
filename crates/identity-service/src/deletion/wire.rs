use serde::Deserialize;
use utoipa::ToSchema;

/// The credentials that deleting the caller's account requires.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DeleteAccountRequest {
    #[schema(format = Password)]
    pub(crate) password: String,
    /// A code of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
