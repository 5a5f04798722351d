//! Preferences that a user sets once for all clients, and the time zone that determines the user's local days.

mod model;
mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use model::{PreferencesRow, PreferencesSql};
pub(crate) use queries::{get_or_default, list};
pub(crate) use routes::configure;
pub(crate) use wire::{CurrentPreferences, Preferences};
