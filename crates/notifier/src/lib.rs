//! The notifier: tells a team's chat and webhooks what happens in the work-session area, and sends the
//! identity area's mails. It takes events in and keeps each notification, call and mail as a row until a hook,
//! a receiver or a mail server has taken it or it is given up; what became of notifications and calls it
//! tells back.
//!
//! What it is not: it has no public API (its listener serves probes and metrics), asks no other service
//! anything, and decides nothing about sessions. A chat that hangs or is gone costs nobody but itself.

mod admin;
mod chat;
mod cli;
mod config;
mod delivery;
mod intake;
mod mail;
mod metrics;
mod providers;
mod reach;
mod running;
mod schema;
mod text;
mod watch;
mod webhooks;

/// The notifier's name in the events it makes.
const SOURCE: &str = "notifier";

pub use admin::{AdminArgs, Caller, run_admin};
pub use cli::run_cli;
pub use config::{ChatConfig, Config, PREFIX, SmtpConfig};
pub use running::{Deps, MIGRATIONS, Running, start};
