//! The chat of a team project. Its address is write-only: an event of the same transaction sends it to the notifier,
//! encrypted. It is also stored encrypted, so that a paused chat can become active again.

pub(crate) mod model;
pub(crate) mod queries;
mod revisions;
pub(crate) mod routes;
mod service;
mod settings;
mod wire;

pub(crate) use model::target;
pub(crate) use revisions::{disable, remove_for_team};
pub(crate) use routes::configure;
