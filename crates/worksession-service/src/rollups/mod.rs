//! What a user has reached, kept ready so that reading it costs the same after ten thousand sessions as
//! after ten. Written with each submit, in the same statement or transaction, and computable again from
//! `sessions`.

pub(crate) mod auditor;
mod boards;
mod model;
mod queries;
pub(crate) mod rebuild;
mod split;
mod wire;

pub(crate) use auditor::Figures;
pub(crate) use model::{Standing, StandingSql};
pub(crate) use queries::{drop_boards_of, standings};
pub(crate) use split::{Split, Sums};
pub(crate) use wire::{PointsSummary, SessionStats, StreakSummary};
