//! The authorization endpoint (RFC 6749 section 4.1, OpenID Connect Core section 3.1.2): where a client sends
//! somebody's browser, to be sent back with a code.

mod answer;
mod decide;
mod parameters;
mod request;
pub(crate) mod routes;
mod service;

pub(crate) use decide::Decision;
pub(crate) use request::scope_for;
