//! Projects of teams: read by members (a public one by everybody who is signed in), changed by the
//! team's owner and admins. Who is what comes with each request from the identity service.

mod access;
pub(crate) mod activity;
mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use access::{get_as_manager, get_as_member, team_name};
pub(crate) use routes::configure;
pub(crate) use wire::read_id;
