//! Where a team project's chat notifications go. The address is write-only: it leaves sealed, in an
//! event to the notifier written in the same transaction, and is kept sealed for a chat that is paused and put into use again.

pub(crate) mod model;
mod provider;
pub(crate) mod queries;
mod revisions;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use model::target;
pub(crate) use revisions::{switch_off, take_away};
pub(crate) use routes::configure;
