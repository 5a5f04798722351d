//! Access tokens (signed) and refresh tokens (opaque), and the keys behind them and behind id tokens.

pub(crate) mod access;
mod algorithm;
pub(crate) mod keys;
pub(crate) mod queries;
pub(crate) mod refresh;
mod ring;
pub(crate) mod rotation;
pub(crate) mod routes;

pub(crate) use algorithm::SigningAlgorithm;
