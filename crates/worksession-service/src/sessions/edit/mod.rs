//! Edits after the submit: the execution note, the rating and the tags.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
