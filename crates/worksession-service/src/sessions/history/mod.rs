//! Reads the caller's sessions: the list with its filters, and a single session.

pub(super) mod queries;
mod range;
pub(crate) mod routes;
mod service;
mod wire;

pub(super) use range::StartRange;
pub(super) use wire::SessionResponse;
