//! Rollups: sums of a user's sessions, so that a read costs the same after ten thousand sessions as after ten. Each
//! submit updates them in its own statement or transaction. They can be rebuilt from `sessions`.

pub(crate) mod auditor;
mod breakdown;
mod leaderboard_retention;
mod model;
mod queries;
pub(crate) mod rebuild;
mod wire;

pub(crate) use auditor::RollupAuditMetrics;
pub(crate) use breakdown::{Breakdown, SessionSums};
pub(crate) use model::{UserTotals, UserTotalsSql};
pub(crate) use queries::{delete_boards_for_team, list_totals};
pub(crate) use wire::{PointsSummary, SessionStats, StreakSummary};
