//! The notifier: announces work sessions in a team's chat and to webhooks, tells OAuth clients of logouts, and sends
//! the mails of the services. It stores each notification, call and mail as a row, and retries it until the other side accepts it or it
//! expires. It reports the outcomes of notifications and calls as events.
//!
//! It has no public API (its listener serves probes and metrics), sends no requests to other services, and decides
//! nothing about sessions. A chat that hangs or is gone delays only its own messages.

mod admin;
mod broker_monitor;
mod chat;
mod cli;
mod config;
mod consumer;
mod delivery;
mod forbidden_address;
mod logouts;
mod mail;
mod metrics;
mod providers;
mod running;
mod schema;
mod text;
mod webhooks;

/// The notifier's name in its events.
const SOURCE: &str = "notifier";

pub use admin::{AdminArgs, AdminInvocation, run_admin};
pub use cli::run_cli;
pub use config::{ChatConfig, Config, PREFIX, SmtpConfig};
pub use running::{Deps, MIGRATIONS, Running, start};
