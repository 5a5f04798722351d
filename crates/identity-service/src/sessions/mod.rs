//! Sign-in sessions: login, logout, refresh, validation. A session is one sign-in and all tokens that
//! come from it; it is revoked as a whole.

pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;

pub(crate) use model::NewSession;
