//! `GET /api/user/data`: the profile and productivity data that clients open with. Two queries, whatever
//! the history.

pub(crate) mod routes;
mod wire;

pub(crate) use routes::configure;
