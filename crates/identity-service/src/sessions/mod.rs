//! Sign-in sessions: login, logout, refresh, validation. A session is one sign-in with all its tokens, and is revoked
//! as a whole.

pub(crate) mod ending;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod model;
mod notice;
pub(crate) mod opening;
pub(crate) mod queries;
pub(crate) mod refresh;
pub(crate) mod routes;
pub(crate) mod second_step;
pub(crate) mod service;
pub(crate) mod token_pair;
pub(crate) mod wire;

use chrono::Duration;

/// How long the row of an ended session is kept. The data export lists these rows, and the sign-in notice compares
/// new locations with them.
pub(crate) const KEPT: Duration = Duration::days(90);

pub(crate) use ending::{end_all, end_excess_sessions, end_replaced};
pub(crate) use model::NewSession;
