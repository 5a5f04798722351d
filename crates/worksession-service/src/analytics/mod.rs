//! The user's work by day, week, hour, category or project. It is read from the rows of complete months and of the days
//! around them. A year costs about seventy rows, however many sessions it has.

mod queries;
mod range;
pub(crate) mod routes;
mod tracking;
mod wire;

pub(crate) use routes::configure;
