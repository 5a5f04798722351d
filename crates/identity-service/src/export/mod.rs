//! The export of everything stored about an account, in one document for its owner.

mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
