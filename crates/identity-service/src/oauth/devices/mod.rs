//! Device authorization (RFC 8628). A program without a browser shows a short code, which a signed-in user enters on a
//! page. The program then gets its tokens.

mod model;
pub(crate) mod pages;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod user_code;
pub(crate) mod wire;

pub(crate) use service::redeem;
