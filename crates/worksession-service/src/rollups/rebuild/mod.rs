//! The rollups computed again from the sessions: to look whether they are what they should be ([`look`]), and to write
//! them anew ([`rebuild`]). Sums come from the credit and points stored with each session; what those should have been
//! is not judged again.

mod queries;
mod recompute;
mod rows;
mod tally;

pub(crate) use queries::{count_users, next_user, users_from};
pub(crate) use recompute::{look, rebuild};
