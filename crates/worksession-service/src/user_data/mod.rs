//! `GET /api/user/data`: the profile and productivity data that clients show first. It takes two queries, however long
//! the history is.

mod load;
pub(crate) mod routes;
mod wire;

pub(crate) use load::{UserDataBatcher, load};
pub(crate) use routes::configure;
