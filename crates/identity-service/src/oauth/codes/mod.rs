//! Authorization codes (RFC 6749 section 4.1.2). A code works once, within a minute, for its client and redirect URI.

mod model;
pub(crate) mod queries;
mod service;

pub(crate) use service::{NewCode, issue, redeem};
