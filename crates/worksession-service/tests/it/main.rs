//! Tests of the service with a fake identity service. What needs the real one is tested with the whole product, in
//! the crate `standalone`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    missing_docs,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod activity;
mod analytics;
mod asking;
mod at_once;
mod auth;
mod chat;
mod chat_tests;
mod cheating;
mod contract;
mod cost;
mod departures;
mod edit;
mod erased;
mod events;
mod export;
mod fairness;
mod followers;
mod health;
mod history;
mod hook_makers;
mod hung_up;
mod identity;
mod identity_down;
mod identity_events;
mod inbox;
mod leaderboard;
mod listener;
mod locks;
mod login;
mod openapi;
mod past;
mod person;
mod projects;
mod races;
mod repeats;
mod rights;
mod rollups;
mod rows;
mod schema;
mod sessions;
mod sign_in;
mod streams;
mod sync;
mod team_activity;
mod teams_gone;
mod teams_scope;
mod told;
mod totals;
mod unfit;
mod user_data;
mod webhook_calls;
mod webhooks;
