//! Sign-in through this service, for clients that know no other address. It forwards the request to the identity service
//! and returns errors in its own format.

pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use routes::configure;
