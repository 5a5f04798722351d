use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// State of the second factor.
#[derive(Serialize, ToSchema)]
pub(crate) struct TotpStatus {
    pub(crate) enabled: bool,
    /// Number of unused recovery codes.
    #[schema(minimum = 0, maximum = 10)]
    pub(crate) recovery_codes_left: i64,
}

/// A request for the secret of an authenticator app.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpSetupRequest {
    /// Password of the account.
    #[schema(format = Password)]
    pub(crate) password: String,
}

/// The secret for the authenticator app, shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct TotpSetup {
    /// In base32, for typing.
    pub(crate) secret: String,
    /// As a URL, for a QR code.
    #[schema(example = "otpauth://totp/Holdfast:ada?secret=JBSWY3DPEHPK3PXP&issuer=Holdfast")]
    pub(crate) otpauth_url: String,
}

/// Proof that the authenticator app has the secret.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpConfirmRequest {
    /// The six digits that the app currently shows.
    #[schema(example = "123456")]
    pub(crate) code: String,
}

/// Codes for signing in without the authenticator app. Each works once.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// Ten codes of 75 random bits each, shown only once.
    #[schema(example = json!(["0f3kq-7w2xn-b8c5d"]))]
    pub(crate) recovery_codes: Vec<String>,
}

/// The password and a code of the second factor.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpChangeRequest {
    /// Password of the account.
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Code from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
