//! What accounts can change about themselves: bio, website and photo. An account without an e-mail address can set one.

mod queries;
pub(crate) mod routes;
mod rules;
pub(crate) mod service;
pub(crate) mod wire;
