use serde::Deserialize;
use utoipa::ToSchema;

/// What it takes to delete one's account.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DeleteAccountRequest {
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
