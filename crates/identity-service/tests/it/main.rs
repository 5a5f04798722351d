//! The identity area over HTTP: a real server on port 0, on the database that the run is for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    reason = "tests fail by panicking and are documented by their names"
)]

mod accounts;
mod attacks;
mod bad_input;
mod commands;
mod keys;
mod limits;
mod openapi;
mod outage;
mod refresh;
mod schema;
mod sessions;
mod support;
mod teams;
