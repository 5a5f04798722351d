//! `GET /api/user/data`: the profile and productivity data that clients show first. It takes two queries, however long
//! the history is.

mod read;
pub(crate) mod routes;
mod wire;

pub(crate) use read::{UserDataBatcher, read};
pub(crate) use routes::configure;
