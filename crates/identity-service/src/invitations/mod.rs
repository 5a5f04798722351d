//! Invitations into teams: an address is asked by mail, and whoever has the mail may join, once.

pub(crate) mod answers;
pub(crate) mod model;
mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
pub(crate) mod withdrawal;
