//! Signs of a manipulated client, as people look at them. A flag is open until somebody clears or upholds it; one that
//! is suspect and not cleared, or upheld, keeps its session off the boards. Points are not touched by it.

mod model;
mod queries;
mod service;

pub(crate) use model::{Filter, FlagEntry, FlagState};
pub(crate) use service::{decide, list};
