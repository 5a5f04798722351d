//! The deliveries of webhooks. This service requests them; the notifier makes them and reports each attempt.

mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(super) use model::NewWebhookDelivery;
pub(super) use routes::configure;
pub(super) use service::enqueue;
