//! The device flow (RFC 8628): a program without a browser shows a short code, which somebody enters on the
//! page for it, signed in, and then the program gets its tokens.

mod model;
pub(crate) mod pages;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod user_code;
pub(crate) mod wire;

pub(crate) use service::redeem;
