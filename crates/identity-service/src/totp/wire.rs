use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether signing in takes a code.
#[derive(Serialize, ToSchema)]
pub(crate) struct TotpStatus {
    pub(crate) enabled: bool,
    /// Recovery codes that are not used yet.
    #[schema(minimum = 0, maximum = 10)]
    pub(crate) recovery_codes_left: i64,
}

/// Asks for a secret for an authenticator app.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpSetupRequest {
    /// The account's.
    #[schema(format = Password)]
    pub(crate) password: String,
}

/// What the authenticator app is to be given; shown this once.
#[derive(Serialize, ToSchema)]
pub(crate) struct TotpSetup {
    /// For typing: base32.
    pub(crate) secret: String,
    /// For a QR code.
    #[schema(example = "otpauth://totp/Holdfast:ada?secret=JBSWY3DPEHPK3PXP&issuer=Holdfast")]
    pub(crate) otpauth_url: String,
}

/// Shows that the authenticator app has the secret.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpConfirmRequest {
    /// Six digits, as the app shows them now.
    #[schema(example = "123456")]
    pub(crate) code: String,
}

/// Codes for who has lost the authenticator app; each is good once.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveryCodes {
    /// Ten of 75 random bits; shown this once.
    #[schema(example = json!(["0f3kq-7w2xn-b8c5d"]))]
    pub(crate) recovery_codes: Vec<String>,
}

/// The password, and a code of the second factor.
#[derive(Deserialize, ToSchema)]
pub(crate) struct TotpChangeRequest {
    /// The account's.
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Of the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}
