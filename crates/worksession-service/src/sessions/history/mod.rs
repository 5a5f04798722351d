//! Reads the caller's sessions: the list with its filters, and a single session.

pub(super) mod queries;
pub(crate) mod routes;
mod service;
mod start_range;
mod wire;

pub(super) use start_range::StartRange;
pub(super) use wire::SessionResponse;
