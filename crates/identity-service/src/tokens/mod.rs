//! Access tokens (signed), refresh tokens (opaque), and the keys that sign access tokens and ID tokens.

pub(crate) mod access;
mod algorithm;
pub(crate) mod keys;
pub(crate) mod queries;
pub(crate) mod refresh;
mod ring;
pub(crate) mod rotation;
pub(crate) mod routes;

pub(crate) use algorithm::SigningAlgorithm;
