//! Starts a timer: the plan is locked, the running session ends at that instant, and the team's chat is notified
//! later. On PostgreSQL concurrent starts share one statement; on SQLite each is a savepoint in the writer's
//! transaction.

mod queries;
mod service;

pub(crate) use queries::StartBatcher;
pub(crate) use service::new_batcher;
pub(super) use service::{StartOrder, start};
