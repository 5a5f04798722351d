//! Holdfast in one process: both HTTP areas and the notifier, each with its own SQLite file, and a broker in memory, fed by the
//! same outboxes as RabbitMQ. For trying it, for one small team, and for tests.
//!
//! This is the only crate that knows all three parts. They still communicate only over HTTP and events, and every key of the
//! launch contract means the same as for a part that runs by itself.

mod admin;
mod cli;
mod config;
mod dashboard;
mod data_dir_lock;
mod demo;
mod running;

pub use cli::run_cli;
pub use config::Config;
pub use running::{RunningParts, StartError, migrate, start};
