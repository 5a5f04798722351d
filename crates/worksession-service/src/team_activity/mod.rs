//! A team at a glance: who is in a session now, and what each user planned and finished lately on the team's projects.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use routes::configure;
