//! The authorization endpoint (RFC 6749 section 4.1, OpenID Connect Core section 3.1.2). A client sends the user's browser
//! here, and the browser returns with a code.

mod decision;
mod form_post;
mod parameters;
mod request;
mod response;
pub(crate) mod routes;
mod service;

pub(crate) use decision::Decision;
pub(crate) use parameters::Parameters;
pub(crate) use request::scope_for;
