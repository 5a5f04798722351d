//! What a team does on one of its projects: the newest sessions of all members, and whether the team's chat was
//! told of each. What somebody noted after the work is nobody else's.

mod queries;
pub(crate) mod routes;
mod service;
mod wire;
