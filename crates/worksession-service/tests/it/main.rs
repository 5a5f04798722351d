//! The service against an identity service that does as the test says. What needs the real one is
//! tested with the whole product, in the crate `standalone`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod auth;
mod chat;
mod cheating;
mod departures;
mod fairness;
mod health;
mod identity;
mod identity_events;
mod openapi;
mod person;
mod races;
mod rows;
mod schema;
mod sessions;
mod teams_gone;
mod user_data;
