//! Invitations to teams. An address is invited by mail, and anybody with the mail can join once.

pub(crate) mod acceptance;
pub(crate) mod model;
mod queries;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod wire;
pub(crate) mod withdrawal;
