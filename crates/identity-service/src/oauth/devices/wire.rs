use serde::Serialize;
use utoipa::ToSchema;

/// What a device shows, and what it asks for its tokens with.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeviceAuthorizationResponse {
    pub(crate) device_code: String,
    #[schema(example = "WDJB-MJHT")]
    pub(crate) user_code: String,
    /// Where people enter it.
    pub(crate) verification_uri: String,
    /// The same with the code in it, for a QR code.
    pub(crate) verification_uri_complete: String,
    /// Seconds.
    #[schema(example = 900)]
    pub(crate) expires_in: i64,
    /// Seconds to wait between two polls.
    #[schema(example = 5)]
    pub(crate) interval: i64,
}

/// What a device sends to begin. A confidential client authenticates as at the token endpoint.
#[derive(ToSchema)]
#[expect(
    dead_code,
    reason = "describes a form that is read parameter by parameter"
)]
pub(crate) struct DeviceAuthorizationRequest {
    client_id: String,
    #[schema(format = Password)]
    client_secret: Option<String>,
    /// Of the scopes that the client is registered for; all of them when absent.
    scope: Option<String>,
}
