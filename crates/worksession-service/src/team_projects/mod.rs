//! Projects of teams. Members read them, every signed-in user reads public ones, and owners and admins change them.
//! The identity service supplies the caller's memberships with each request.

mod access;
pub(crate) mod activity;
mod model;
pub(crate) mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use access::{get_as_manager, get_as_member, team_name};
pub(crate) use routes::configure;
pub(crate) use wire::parse_id;
