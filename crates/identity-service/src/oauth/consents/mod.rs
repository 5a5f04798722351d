//! The consents that accounts give to OAuth clients, and their revocation.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use model::ConsentRow;
