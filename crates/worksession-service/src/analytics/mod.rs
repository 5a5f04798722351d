//! What a user worked, by day, week, hour, category or project. Read from the rows of whole
//! months and of the days around them: a year costs some seventy rows, however many sessions lie behind.

mod queries;
mod range;
pub(crate) mod routes;
mod tracking;
mod wire;

pub(crate) use routes::configure;
