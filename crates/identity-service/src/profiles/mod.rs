//! What accounts can change about themselves: bio, website and photo. An account without an e-mail address can set one.

mod field_rules;
mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
