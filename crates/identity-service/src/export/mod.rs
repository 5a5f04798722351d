//! Everything that is kept about an account, in one document for its owner.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
