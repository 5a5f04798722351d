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

mod account_erasure;
mod admin_command;
mod analytics;
mod auth;
mod authorization_before_validation;
mod broker_fixture;
mod caller;
mod chat;
mod chat_tests;
mod check_config;
mod concurrent_requests;
mod concurrent_sync;
mod credit_and_flags;
mod database;
mod disconnects_and_slow_bodies;
mod event_stream;
mod event_stream_client;
mod event_stream_limits;
mod export;
mod failing_identity;
mod fake_identity;
mod fake_notifier;
mod fake_sign_in;
mod health;
mod history;
mod identity_connections;
mod identity_down;
mod identity_events;
mod inbox;
mod integration_creators;
mod integration_disabled;
mod leaderboard;
mod login;
mod manipulated_clients;
mod open_transaction;
mod openapi;
mod past_sessions;
mod projects;
mod renamed_and_deleted_teams;
mod repeated_starts;
mod request_coalescing;
mod request_cost;
mod rollups;
mod schema;
mod service_fixture;
mod session_edit;
mod session_plan;
mod sessions;
mod sync;
mod team_activity;
mod team_project_activity;
mod teams_scope;
mod unstorable_events;
mod user_data;
mod user_totals;
mod webhook_deliveries;
mod webhook_fixture;
mod webhooks;
mod webhooks_of_erased_sessions;
