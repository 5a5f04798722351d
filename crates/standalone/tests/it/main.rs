//! The whole product, both areas and the notifier, as its users and operators see it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod account_events;
mod admin;
mod bad_input;
mod base_path;
mod dashboard;
mod dead_letters;
mod event_streams;
mod first_party_client;
mod harness;
mod health;
#[path = "../../../identity-service/tests/it/html_parser.rs"]
#[allow(dead_code, reason = "the tests of the pages use more of it")]
mod html_parser;
mod integration_disabled;
mod kill;
mod logouts;
mod main_workflow;
mod outages;
mod preferences;
mod probes_headers;
mod processes;
mod projects;
mod public_address;
mod secrets_in_logs;
mod settings;
mod shared_database;
mod sign_in;
mod tcp_proxy;
mod webhooks;
