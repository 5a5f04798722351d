//! What may still be changed after a session was submitted: its execution note, its rating and its tags.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
