//! A team at a glance: who of it is in a session now, and what each has planned and finished lately on its projects.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use routes::configure;
