//! A team's activity on one of its projects: the newest sessions of all members, and whether the chat was notified of
//! each. Execution notes are visible to their users only.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
