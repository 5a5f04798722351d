//! Settings: how somebody likes to work, the time zone, and one's sessions as files.

mod export;
mod routes;
mod timezone;

pub(crate) use routes::routes;
