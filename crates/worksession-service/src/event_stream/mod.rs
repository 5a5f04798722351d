//! Event streams. `GET /api/events` reports at once what changes in the user's sessions and points, and in the sessions on
//! projects of the user's teams.
//!
//! The source is the database, not the broker. While streams are open, one task per process ([`update_reader`]) reads the
//! recent changes of all processes. It passes them to all streams through the [`StreamHub`]. Each stream sends what its
//! user may see now: token and memberships are revalidated every few seconds. Every event is sent at least once. A client
//! that was away too long or reads too slowly receives `reset`, and calls `GET /api/sync/status`.

mod access;
mod config;
mod frame;
mod queries;
pub(crate) mod routes;
mod stream;
mod stream_hub;
mod update;
mod update_reader;
mod wire;

pub use config::EventStreamConfig;
pub(crate) use routes::configure;
pub(crate) use stream_hub::StreamHub;
pub(crate) use update_reader::spawn;

use chrono::TimeDelta;

/// How far each read reaches back behind the previous one. A session has the time of its change from the clock of its own
/// process, and becomes visible with the commit. It can be late by the duration of a transaction and the lag of that clock.
/// Later changes are missing here; `GET /api/sync/status` has them all.
const OVERLAP: TimeDelta = TimeDelta::seconds(10);
