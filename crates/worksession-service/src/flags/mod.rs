//! The review of integrity flags. A flag is open until an administrator clears or upholds it. A flag that
//! is upheld, or suspect and not cleared, keeps its session off the leaderboards. It does not change points.

mod model;
mod queries;
mod service;

pub(crate) use model::{FlagEntry, FlagFilter, FlagState};
pub(crate) use service::{decide, list};
