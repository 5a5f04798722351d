//! Teams, their members, and the members' roles.

pub(crate) mod authorization;
pub(crate) mod members;
pub(crate) mod memberships;
pub(crate) mod model;
pub(crate) mod queries;
pub(crate) mod removal;
pub(crate) mod routes;
pub(crate) mod service;
pub(crate) mod slug;
pub(crate) mod team_limits;
pub(crate) mod wire;
