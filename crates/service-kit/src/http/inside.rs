use std::sync::Arc;

use actix_web::http::header::HeaderMap;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use secrecy::{ExposeSecret as _, SecretString};

use crate::crypto::random_token;

/// Shows one part of a process to another that they are one: what it says about callers' addresses is believed. Nobody
/// else knows it, so that a proxy on the same machine, which calls from the same address, is not taken for it.
#[derive(Debug, Clone)]
pub struct Inside(Arc<SecretString>);

impl Inside {
    /// The header that carries it.
    pub const HEADER: &str = "x-holdfast-inside";

    /// Another one for each process.
    #[must_use]
    pub fn fresh() -> Self {
        Self(Arc::new(random_token()))
    }

    /// The header's value.
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
