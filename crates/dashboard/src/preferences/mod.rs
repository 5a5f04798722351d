//! Settings: the preferences, the time zone, and the user's sessions as files.

mod export;
mod routes;
mod timezone;

pub(crate) use routes::routes;
