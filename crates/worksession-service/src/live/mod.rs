//! Live events: `GET /api/events` tells a client at once of its user's sessions and points, and of the sessions on the
//! projects of the user's teams.
//!
//! The truth is the database, not the broker: while streams are open, one task a process ([`tail`]) reads what changed
//! lately, whichever process changed it, and hands it to all of them through the [`Hub`]. Each stream passes on what
//! its user may see now: token and memberships are asked for again every few seconds. Everything is told at least
//! once; who was away too long, or reads too slowly, is told so, and asks `GET /api/sync/status`.

mod change;
mod config;
mod frame;
mod hub;
mod queries;
pub(crate) mod routes;
mod standing;
mod stream;
mod tail;
mod wire;

pub use config::LiveConfig;
pub(crate) use hub::Hub;
pub(crate) use routes::configure;
pub(crate) use tail::spawn;

use chrono::TimeDelta;

/// How far each look reaches back behind the one before. A session carries the time at which its change began on a
/// clock of its own process, and becomes visible with the commit: it may be late by what a transaction takes, and by
/// what that clock lags. What is later still is not told here; `GET /api/sync/status` misses nothing.
const OVERLAP: TimeDelta = TimeDelta::seconds(10);
