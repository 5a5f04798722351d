//! Accounts: registration, one's own account, and what others may see of it.

pub(crate) mod creation;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod rules;
pub(crate) mod service;
pub(crate) mod wire;
