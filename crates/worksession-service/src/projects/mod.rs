//! Personal projects, the combined list, and what every feature needs of a project: its ids, how
//! clients refer to one ([`ProjectRef`]), and [`lookup`] for the start of a session.

mod ids;
pub(crate) mod lookup;
mod model;
mod queries;
mod reference;
pub(crate) mod routes;
mod service;
pub(crate) mod text;
mod wire;

pub(crate) use ids::{ProjectId, TeamProjectId};
pub(crate) use lookup::{ProjectKind, ProjectSnapshot, resolve_for_start};
pub(crate) use model::{ProjectRow, ProjectSql};
pub(crate) use reference::ProjectRef;
pub(crate) use routes::configure;
pub(crate) use wire::{ListQuery, Project};

/// Projects of a user or of a team, archived ones included: their lists come whole, and must end.
pub(crate) const MOST_PROJECTS: i64 = 2_000;
