//! Rollups computed from the sessions: [`compare`] compares them with the stored ones, [`rebuild`] rewrites them. The
//! sums use the credit and points that are stored with each session, and do not compute these again.

mod compute;
mod queries;
mod recompute;
mod rows;

pub(crate) use queries::{count_users, find_next_user, list_users};
pub(crate) use recompute::{compare, rebuild};
