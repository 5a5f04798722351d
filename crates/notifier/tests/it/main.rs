//! The notifier as it runs: events in, messages to a chat that misbehaves, feedback events out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod admin_deliveries;
mod admin_kit;
mod admin_parked;
mod digests;
mod hooks;
mod kit;
mod mail_kit;
mod mail_restart;
mod mail_trouble;
mod mails;
mod messages;
mod poison;
mod providers;
mod restart;
mod schema;
mod tests_of_chats;
mod waiting;
mod webhook_kit;
mod webhook_trouble;
mod webhooks;
