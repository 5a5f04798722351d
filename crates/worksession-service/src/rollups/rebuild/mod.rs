//! Rollups computed from the sessions: [`look`] compares them with the stored ones, [`rebuild`] rewrites them. The
//! sums use the credit and points that are stored with each session, and do not compute these again.

mod queries;
mod recompute;
mod rows;
mod tally;

pub(crate) use queries::{count_users, next_user, users_from};
pub(crate) use recompute::{look, rebuild};
