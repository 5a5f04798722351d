//! What an account says of itself, and may change: bio, website, photo, and an e-mail address where it
//! gave none at registration.

mod queries;
pub(crate) mod routes;
mod rules;
pub(crate) mod service;
pub(crate) mod wire;
