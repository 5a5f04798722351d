//! OAuth clients: how they are registered, and how they show who they are.

pub(crate) mod authentication;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod redirect;
pub(crate) mod service;
