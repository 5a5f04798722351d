//! The token endpoint (RFC 6749 section 3.2), which exchanges grants for tokens.

pub(crate) mod routes;
mod service;
pub(crate) mod wire;
