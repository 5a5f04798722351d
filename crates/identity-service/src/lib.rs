//! The identity service: accounts, sign-in sessions and their tokens, teams and invitations. Other services reach it
//! only over HTTP, and no other service uses its database.
//!
//! It knows nothing of projects or focus sessions, and sends no mail or chat message itself.

mod accounts;
mod admin;
mod allowed_origins;
mod app;
mod audit;
mod auth;
mod change_feed;
mod cli;
mod closed_sets;
mod columns;
mod config;
mod cookies;
mod credentials;
mod deletion;
mod double_option;
mod error;
mod existence_check;
mod export;
mod housekeeping;
mod invitations;
mod mail_links;
mod names;
mod oauth;
mod openapi;
mod pages;
mod pagination;
mod passwords;
mod photos;
mod profiles;
mod rate_limits;
mod request_context;
mod running;
mod schema;
mod sessions;
mod sso;
mod teams;
mod token_access;
mod tokens;
mod totp;
mod transaction;

pub use cli::{AdminArgs, run_admin, run_cli};
pub use config::{
    AdminConfig, Config, KeysConfig, LimitsConfig, PasswordConfig, PremiumConfig, SsoConfig,
    TeamsConfig, TokensConfig,
};
pub use oauth::clients::config::OAuthClientConfig;
pub use oauth::config::OAuthConfig;
pub use openapi::openapi;
pub use running::{Deps, MIGRATIONS, RunningService, start};
