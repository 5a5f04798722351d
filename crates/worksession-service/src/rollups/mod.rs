//! What a user has reached, kept ready so that reading it costs the same after ten thousand sessions as
//! after ten. Written with each submit, in the same statement or transaction, and computable again from
//! `sessions`.

mod model;
mod queries;
mod wire;

pub(crate) use model::{Standing, StandingSql};
pub(crate) use queries::{standing, standing_columns, standing_tables};
pub(crate) use wire::{PointsSummary, SessionStats, StreakSummary};
