//! Holdfast in one process: both HTTP areas and the notifier, each with its own SQLite file, and the
//! broker in memory, fed by the same outboxes as RabbitMQ would be. For trying it, for one small team,
//! and for tests.
//!
//! The only crate that knows all three parts. What it is not: the parts still talk to each other over
//! HTTP and events alone, and every key of the launch contract means here what it means for a part that
//! runs by itself.

mod admin;
mod cli;
mod config;
mod dashboard;
mod demo;
mod occupied;
mod running;

pub use cli::run_cli;
pub use config::Config;
pub use running::{Running, StartError, migrate, start};
