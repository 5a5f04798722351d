//! The notifier as it runs: events in, messages to a chat that misbehaves, words back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod hooks;
mod kit;
mod mail_kit;
mod mail_restart;
mod mail_trouble;
mod mails;
mod messages;
mod restart;
mod schema;
