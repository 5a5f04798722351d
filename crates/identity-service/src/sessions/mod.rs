//! Sign-in sessions: login, logout, refresh, validation. A session is one sign-in and all tokens that
//! come from it; it is revoked as a whole.

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

/// A session that is over is kept for so long, so that what happened to it can still be told, and so long
/// is known from where an account was used: each needs the other's rows.
pub(crate) const KEPT: Duration = Duration::days(90);

pub(crate) use ending::{end_all, end_all_for, end_replaced, make_room};
pub(crate) use model::NewSession;
