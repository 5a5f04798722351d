use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new password, for a caller who knows the old one.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangePasswordRequest {
    #[schema(format = Password)]
    pub(crate) current_password: String,
    /// At least 8 characters and at most 72 bytes of UTF-8, after NFKC normalisation.
    #[schema(min_length = 8, format = Password)]
    pub(crate) new_password: String,
    /// A code of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}

/// The account whose password was forgotten, by exactly one of the two fields.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ForgotRequest {
    pub(crate) username: Option<String>,
    pub(crate) email: Option<String>,
}

/// The response, which is the same for every request.
#[derive(Serialize, ToSchema)]
pub(crate) struct ForgotResponse {
    #[schema(example = "If the account exists and has an e-mail address, a mail is on its way")]
    pub(crate) message: &'static str,
}

/// A new password, for somebody who has received a reset link.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ResetRequest {
    /// The last part of the link.
    pub(crate) token: String,
    /// At least 8 characters and at most 72 bytes of UTF-8, after NFKC normalisation.
    #[schema(min_length = 8, format = Password)]
    pub(crate) new_password: String,
}

/// Verifies the address that a link was mailed to.
#[derive(Deserialize, ToSchema)]
pub(crate) struct VerifyEmailRequest {
    /// The last part of the link.
    pub(crate) token: String,
}

/// A new e-mail address.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeEmailRequest {
    #[schema(format = Email)]
    pub(crate) email: String,
    /// The account's password.
    #[schema(format = Password)]
    pub(crate) password: String,
    /// A code of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
