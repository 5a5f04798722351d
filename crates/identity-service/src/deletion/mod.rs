//! The end of an account, by its owner.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
