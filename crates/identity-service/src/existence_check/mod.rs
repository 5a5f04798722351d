//! Lets other services check an event before they erase data because of it. Anybody who may publish can forge an
//! event, but not a response of this service.

pub(crate) mod routes;
mod service;
