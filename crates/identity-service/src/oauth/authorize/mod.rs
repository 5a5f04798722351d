//! The authorization endpoint (RFC 6749 section 4.1, OpenID Connect Core section 3.1.2). A client sends the user's browser
//! here, and the browser returns with a code.

mod answer;
mod decide;
mod parameters;
mod request;
pub(crate) mod routes;
mod service;

pub(crate) use decide::Decision;
pub(crate) use request::scope_for;
