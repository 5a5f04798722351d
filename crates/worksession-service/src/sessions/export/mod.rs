//! Exports all sessions of a user as a file, page by page while the client reads. A slow client holds neither the
//! sessions in memory nor a connection to the database.

mod calendar;
mod csv;
mod format;
mod json;
mod queries;
pub(crate) mod routes;
mod service;
mod wire;

#[cfg(test)]
mod samples;
