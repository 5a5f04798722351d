//! Personal projects and the combined list of projects. Other features use the ids, the references of clients
//! ([`ProjectRef`]), and [`lookup`] for the start of a session.

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
pub(crate) use wire::{Project, ProjectListQuery};

/// The maximum number of projects of a user or a team, including archived ones. Their lists have no pages.
pub(crate) const MAX_PROJECTS: i64 = 2_000;
