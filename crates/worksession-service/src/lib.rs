//! The work-session service: personal and team projects, chat settings, preferences, planned and
//! executed focus sessions with their points, streaks and badges, and the health report.
//!
//! It stores no password and signs no token: the identity service validates each caller. It calls no chat: the notifier
//! does, after it receives an event. Starts and submits write to the database only, so that an unavailable broker or a
//! slow chat never delays them.

mod analytics;
mod app_state;
mod auth;
mod background_job;
mod chat_settings;
mod cli;
mod closed_sets;
mod columns;
mod config;
mod dashboard;
mod erasure;
mod error;
mod event_stream;
mod events;
mod feedback;
mod flags;
mod health;
mod identity_events;
mod inbox_retention;
mod integrations;
mod leaderboard;
mod login;
mod openapi;
mod pagination;
mod preferences;
mod projects;
mod rollups;
mod rules;
mod running;
mod schema;
mod sealers;
mod sessions;
mod sync;
mod team_activity;
mod team_projects;
mod user_data;
mod webhooks;
mod whole_number;

pub use cli::{AdminArgs, run_admin, run_cli};
pub use config::{
    AuditConfig, AuthConfig, CategoriesConfig, Config, DashboardConfig, LeaderboardConfig, PREFIX,
};
pub use event_stream::EventStreamConfig;
pub use openapi::{openapi, openapi_json};
pub use running::{Deps, MIGRATIONS, RunningService, start};
