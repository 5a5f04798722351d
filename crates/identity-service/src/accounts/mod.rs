//! Accounts: registration, the caller's own account, and the public data of others.

pub(crate) mod creation;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod rules;
pub(crate) mod service;
pub(crate) mod wire;
