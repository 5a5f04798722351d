//! The whole product, both areas and the notifier, as its users and operators see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod accounts_life;
mod admin;
mod bad_input;
mod base_path;
mod dashboard;
mod first_party;
mod harness;
mod health;
#[path = "../../../identity-service/tests/it/html.rs"]
#[allow(dead_code, reason = "the tests of the pages use more of it")]
mod html;
mod kill;
mod line;
mod live;
mod main_job;
mod outages;
mod parked;
mod preferences;
mod probes_headers;
mod processes;
mod projects;
mod public;
mod secrets_in_logs;
mod settings;
mod shared_database;
mod sign_in;
mod told;
mod webhooks;
