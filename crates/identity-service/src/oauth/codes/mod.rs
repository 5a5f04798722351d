//! Authorization codes: each is good once, for a minute, for the client and the address that it was made for
//! (RFC 6749 section 4.1.2).

mod model;
pub(crate) mod queries;
mod service;

pub(crate) use service::{NewCode, issue, redeem};
