//! Webhooks: addresses of a user's, or of a team's, own that are told of sessions.
//!
//! Here is who has which webhook, what each is told, and the log of the calls; the notifier makes them. An
//! address and the secrets that sign are kept sealed and told to the notifier so, in an event written with
//! the change. Which webhooks hear of a session is decided by [`matching`]: on an event's way to the broker, whether any
//! does, so that the others come back to nobody; and, of those that do, which. Whatever happens after a webhook was made
//! finds it, and a start or a submit does not wait for it.

pub(crate) mod deliveries;
pub(crate) mod keeper;
mod matching;
pub(crate) mod model;
pub(crate) mod queries;
mod revisions;
pub(crate) mod routes;
mod service;
mod target;
mod wire;

pub(crate) use matching::{listened, spawn};
pub(crate) use model::Owner;
pub(crate) use revisions::{switch_off, take_away};
pub(crate) use routes::configure;
