//! What the product's other parts ask before they erase something because of an event: an event can be forged by anybody
//! who may publish, the answer of this service cannot.

pub(crate) mod routes;
mod service;
