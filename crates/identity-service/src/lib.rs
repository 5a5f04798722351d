//! The identity area: accounts, sign-in sessions and their tokens, teams. It answers other services
//! only over HTTP, and its database is nobody else's.
//!
//! What it is not: it knows nothing of projects or focus sessions, and sends no mail or chat message.

mod accounts;
mod app;
mod audit;
mod auth;
mod cli;
mod config;
mod error;
mod limits;
mod openapi;
mod passwords;
mod schema;
mod sessions;
mod start;
mod teams;
mod tokens;

pub use cli::run_cli;
pub use config::{
    Config, CorsConfig, KeysConfig, PasswordConfig, PremiumConfig, SsoConfig, TokensConfig,
};
pub use openapi::openapi;
pub use start::{Deps, MIGRATIONS, Running, StartError, migrate, start};
