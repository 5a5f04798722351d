//! The notifier as it runs: events in, messages to a chat that misbehaves, feedback events out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod admin_dead_letters;
mod admin_deliveries;
mod admin_kit;
mod chat_failures;
mod chat_messages;
mod chat_restart;
mod chat_tests;
mod digests;
mod kit;
mod logouts;
mod mail_failures;
mod mail_kit;
mod mail_restart;
mod mails;
mod pending_deliveries;
mod providers;
mod schema;
mod unreadable_events;
mod webhook_failures;
mod webhook_kit;
mod webhooks;
