//! The first page: plan a session, watch it run, take a break.

mod page;
mod routes;
mod timer;

pub(crate) use routes::routes;
