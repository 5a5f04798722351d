//! What a user sets once and every client applies, and the time zone that makes his days.

mod model;
mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use model::{SettingsRow, SettingsSql};
pub(crate) use queries::{get_or_default, list};
pub(crate) use routes::configure;
pub(crate) use wire::{CurrentPreferences, Preferences};
