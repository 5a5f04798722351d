//! Deletion of an account by its owner.

mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
