//! Invitations into teams: an address is asked by mail, and whoever has the mail may join, once.

mod answers;
mod model;
mod queries;
pub(crate) mod routes;
pub(crate) mod service;
mod wire;
