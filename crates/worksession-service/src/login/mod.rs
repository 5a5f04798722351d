//! Signing in through this area, for clients that know no other address: the identity service is asked,
//! and its answer given on in this area's shape.

pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use routes::configure;
