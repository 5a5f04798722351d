//! Starting a timer: the plan is locked, the session that ran before ends at that instant, and the
//! team is told later. One statement on PostgreSQL, for all who start at the same time; one write transaction on SQLite.

mod queries;
mod service;

pub(crate) use queries::Starts;
pub(crate) use service::starts;
pub(super) use service::{Order, start};
