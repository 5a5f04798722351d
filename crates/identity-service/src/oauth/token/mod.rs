//! The token endpoint (RFC 6749 section 3.2): what a client brings, and the tokens it gets for it.

pub(crate) mod routes;
mod service;
pub(crate) mod wire;
