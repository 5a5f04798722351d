//! The notifier: tells a team's chat what happens in the work-session area. It takes events in, keeps
//! each notification as a row until a hook has taken it or it is given up, and tells what became of it.
//!
//! What it is not: it has no public API (its listener serves probes and metrics), asks no other service
//! anything, and decides nothing about sessions. A chat that hangs or is gone costs nobody but itself.

mod chat;
mod cli;
mod config;
mod events;
mod metrics;
mod providers;
mod running;
mod schema;

pub use cli::run_cli;
pub use config::{ChatConfig, Config, PREFIX, SmtpConfig};
pub use running::{Deps, MIGRATIONS, Running, StartError, start};
