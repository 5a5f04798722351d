use std::sync::Arc;

use actix_web::http::header::HeaderMap;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use secrecy::{ExposeSecret as _, SecretString};

use crate::crypto::random_token;

/// A secret by which one part of a process recognises another one, and trusts the client addresses that it reports. A proxy on
/// the same machine calls from the same address, but does not know the secret.
#[derive(Debug, Clone)]
pub struct InternalSecret(Arc<SecretString>);

impl InternalSecret {
    /// The header that carries the secret.
    pub const HEADER: &str = "x-holdfast-inside";

    /// Creates a secret; each process has its own.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Arc::new(random_token()))
    }

    /// Returns the value of the header.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        headers.get(Self::HEADER).is_some_and(|shown| {
            verify_slices_are_equal(shown.as_bytes(), self.expose().as_bytes()).is_ok()
        })
    }
}
