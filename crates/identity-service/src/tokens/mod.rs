//! Access tokens (signed) and refresh tokens (opaque), and the keys behind both.

pub(crate) mod access;
pub(crate) mod keys;
pub(crate) mod queries;
pub(crate) mod refresh;
mod ring;
pub(crate) mod rotation;
pub(crate) mod routes;
