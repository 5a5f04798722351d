//! What accounts have allowed OAuth clients, and taking it back.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use model::ConsentRow;
