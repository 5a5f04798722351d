use auth_types::TeamId;
use db_kit::Db;
use event_types::ChatTarget;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ProjectRef, TeamProjectId, queries};
use crate::auth::CurrentUser;
use crate::chat_settings;
use crate::error::Error;
use crate::team_projects;

/// The kind of a project, which responses contain as `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProjectKind {
    /// A project of a team.
    Team,
    /// A project of the user.
    Personal,
}

/// What a session stores about its project when it starts.
#[derive(Debug, Clone)]
pub(crate) struct ProjectSnapshot {
    /// `team_N`, `personal_N` or `none`.
    pub(crate) id: String,
    /// Empty without a project.
    pub(crate) name: String,
    /// The team of a team project.
    pub(crate) team_id: Option<TeamId>,
    /// The name of the team, as the identity service reported it for this request.
    pub(crate) team_name: Option<String>,
    /// The chat that receives notifications; none without an active one.
    pub(crate) chat: Option<ChatTarget>,
}

impl ProjectSnapshot {
    /// Returns the snapshot of a session without a project.
    pub(crate) fn none() -> Self {
        Self {
            id: ProjectRef::None.to_string(),
            name: String::new(),
            team_id: None,
            team_name: None,
            chat: None,
        }
    }
}

/// Returns the project on which a session of `caller` starts.
///
/// # Errors
/// 403 for a project of another team, 404 for an unknown project, and 409 for an archived one.
pub(crate) fn resolve_for_start(
    db: &mut Db,
    reference: &ProjectRef,
    caller: &CurrentUser,
) -> Result<ProjectSnapshot, Error> {
    match *reference {
        ProjectRef::None => Ok(ProjectSnapshot::none()),
        ProjectRef::Team(id) => resolve_team(db, reference, id, caller),
        ProjectRef::Personal(id) => {
            let row = queries::find(db, caller.id, id)?.ok_or(Error::ProjectNotFound)?;
            if row.archived_at.is_some() {
                return Err(Error::ProjectArchived);
            }
            Ok(ProjectSnapshot {
                id: reference.to_string(),
                name: row.name,
                ..ProjectSnapshot::none()
            })
        }
    }
}

fn resolve_team(
    db: &mut Db,
    reference: &ProjectRef,
    id: TeamProjectId,
    caller: &CurrentUser,
) -> Result<ProjectSnapshot, Error> {
    let (row, chat) =
        team_projects::queries::find_with_chat(db, id)?.ok_or(Error::TeamProjectNotFound)?;
    // Membership is checked first, because only members may learn whether the project is archived.
    let membership = caller
        .membership(row.team_id)
        .ok_or(Error::TeamProjectForbidden)?;
    if row.archived_at.is_some() {
        return Err(Error::ProjectArchived);
    }
    Ok(ProjectSnapshot {
        id: reference.to_string(),
        name: row.name,
        team_id: Some(row.team_id),
        team_name: Some(membership.name.clone()),
        chat: chat.and_then(|chat| chat_settings::target(chat, row.chat_channel)),
    })
}
