//! All of a user's sessions as a file, written page by page while the client reads: neither the sessions nor a
//! connection to the database are held for a reader who is slow.

mod calendar;
mod format;
mod json;
mod queries;
pub(crate) mod routes;
mod service;
mod table;
mod wire;

#[cfg(test)]
mod samples;
