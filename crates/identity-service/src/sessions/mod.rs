//! Sign-in sessions: login, logout, refresh, validation. A session is one sign-in with all its tokens, and is revoked
//! as a whole.

pub(crate) mod derived_session;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod refresh;
pub(crate) mod refresh_check;
pub(crate) mod revocation;
pub(crate) mod routes;
pub(crate) mod second_step;
mod sign_in_notice;
pub(crate) mod token_pair;
pub(crate) mod validation;
pub(crate) mod wire;

use chrono::Duration;

/// How long the row of an ended session is kept. The data export lists these rows, and the sign-in notice compares
/// new locations with them.
pub(crate) const KEPT: Duration = Duration::days(90);

pub(crate) use model::NewSession;
pub(crate) use revocation::{end_all, end_excess_sessions, end_replaced, lock_replaced};
