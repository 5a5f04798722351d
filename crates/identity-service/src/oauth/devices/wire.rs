use serde::Serialize;
use utoipa::ToSchema;

/// The user code that the device shows, and the device code with which it polls for tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeviceAuthorizationResponse {
    pub(crate) device_code: String,
    #[schema(example = "WDJB-MJHT")]
    pub(crate) user_code: String,
    /// The page on which users enter the code.
    pub(crate) verification_uri: String,
    /// The same address with the user code, for a QR code.
    pub(crate) verification_uri_complete: String,
    /// The lifetime of the codes, in seconds.
    #[schema(example = 900)]
    pub(crate) expires_in: i64,
    /// The minimum interval between two polls, in seconds.
    #[schema(example = 5)]
    pub(crate) interval: i64,
}

/// The form that starts a device authorization. A confidential client authenticates as at the token endpoint.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "describes a form that is read parameter by parameter"
)]
pub(crate) struct DeviceAuthorizationRequest {
    client_id: String,
    #[schema(format = Password)]
    client_secret: Option<String>,
    /// The requested scopes, separated by spaces. If absent, all for which the client is registered.
    scope: Option<String>,
}
