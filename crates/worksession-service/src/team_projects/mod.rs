//! Projects of teams: read by members (a public one by everybody who is signed in), changed by the
//! team's owner and admins. Who is what comes with each request from the identity service.

pub(crate) mod activity;
mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use routes::{configure, read_id};
pub(crate) use service::{get_as_manager, get_as_member, team_name};
