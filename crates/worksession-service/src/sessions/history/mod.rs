//! The caller's sessions to look at: the list with its filters, and one alone.

pub(super) mod queries;
mod range;
pub(crate) mod routes;
mod service;
mod wire;

pub(super) use range::Span;
pub(super) use wire::SessionResponse;
