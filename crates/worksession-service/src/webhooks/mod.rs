//! Webhooks: addresses of a user or a team that receive events about sessions.
//!
//! This module has the webhooks, their subscriptions and the log of deliveries; the notifier makes the deliveries.
//! Addresses and signing secrets are stored encrypted. The notifier gets them encrypted too, in an event of the same
//! transaction. [`consumer`] decides which webhooks receive an event. The relay asks whether any does, so that all
//! other events skip the queue. The consumer then decides which. A webhook gets every event after its creation, and no
//! start or submit waits for it.

mod consumer;
pub(crate) mod deliveries;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod retention;
mod revisions;
pub(crate) mod routes;
mod service;
mod target;
mod wire;

pub(crate) use consumer::{list_subscribed, spawn};
pub(crate) use model::WebhookOwner;
pub(crate) use revisions::{delete_for_owner, disable};
pub(crate) use routes::configure;
