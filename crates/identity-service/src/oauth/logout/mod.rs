//! Logout of OAuth clients. A client sends the browser here to sign the user out (OpenID Connect RP-Initiated Logout 1.0),
//! and is called when one of its sessions has ended (Back-Channel Logout 1.0).
//!
//! `unsigned` is the call as the outbox holds it. `tokens` signs it when the relay publishes the event, however long the
//! broker was away.

mod request;
pub(crate) mod routes;
pub(crate) mod tokens;
mod unsigned;

pub(crate) use unsigned::UnsignedLogout;
