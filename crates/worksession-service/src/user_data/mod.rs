//! `GET /api/user/data`: the profile and productivity data that clients open with. Two queries, whatever
//! the history.

mod read;
pub(crate) mod routes;
mod wire;

pub(crate) use read::{Reads, read};
pub(crate) use routes::configure;
