//! The calls of webhooks: asked for here, made by the notifier, which tells how each stands.

mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(super) use model::NewCall;
pub(super) use routes::configure;
pub(super) use service::ask;
