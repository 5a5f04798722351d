//! Accounts: registration, the caller's own account, and the public data of others.

pub(crate) mod creation;
mod email;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod routes;
pub(crate) mod service;
mod username;
pub(crate) mod wire;

pub(crate) use email::{Email, ascii_domain};
pub(crate) use username::{Username, name_to_look_up};
