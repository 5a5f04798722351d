use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new password for who knows the old one.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangePasswordRequest {
    #[schema(format = Password)]
    pub(crate) current_password: String,
    /// At least 8 characters, at most 72 bytes of UTF-8, after NFKC.
    #[schema(min_length = 8, format = Password)]
    pub(crate) new_password: String,
    /// Of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}

/// Whose password is forgotten: one of the two.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ForgotRequest {
    pub(crate) username: Option<String>,
    pub(crate) email: Option<String>,
}

/// The same for everybody.
#[derive(Serialize, ToSchema)]
pub(crate) struct ForgotResponse {
    #[schema(
        example = "If the account exists and has an address of its own, a mail is on its way"
    )]
    pub(crate) message: &'static str,
}

/// A new password for who has read the mail.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ResetRequest {
    /// The end of the link.
    pub(crate) token: String,
    /// At least 8 characters, at most 72 bytes of UTF-8, after NFKC.
    #[schema(min_length = 8, format = Password)]
    pub(crate) new_password: String,
}

/// Shows that a mail was read.
#[derive(Deserialize, ToSchema)]
pub(crate) struct VerifyEmailRequest {
    /// The end of the link.
    pub(crate) token: String,
}

/// Another e-mail address.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ChangeEmailRequest {
    #[schema(format = Email)]
    pub(crate) email: String,
    /// The account's.
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
