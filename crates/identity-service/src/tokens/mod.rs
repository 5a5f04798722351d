//! Access tokens (signed), refresh tokens (opaque), and the keys that sign access tokens and ID tokens.

pub(crate) mod access_token;
mod algorithm;
mod key_ring;
pub(crate) mod key_rotation;
pub(crate) mod key_store;
pub(crate) mod queries;
pub(crate) mod refresh_token;
pub(crate) mod routes;

pub(crate) use algorithm::SigningAlgorithm;
pub(crate) use key_ring::SigningKey;
