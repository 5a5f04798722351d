use auth_types::UserId;
use db_kit::Db;

use super::model::{NewProject, ProjectChanges, ProjectRow};
use super::wire::{AllProjectsResponse, AnyProject, CreateProjectRequest, UpdateProjectRequest};
use super::{MAX_PROJECTS, ProjectId, ProjectKind, ProjectRef, queries, text};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::{sync, team_projects};

pub(super) async fn list(
    state: &AppState,
    user: UserId,
    archived: bool,
) -> Result<Vec<ProjectRow>, Error> {
    let list = move |db: &mut Db| queries::list(db, user, archived);
    state.read(list).await
}

pub(super) async fn find(
    state: &AppState,
    user: UserId,
    id: ProjectId,
) -> Result<ProjectRow, Error> {
    let found = state.read(move |db| queries::find(db, user, id)).await?;
    found.ok_or(Error::ProjectNotFound)
}

pub(super) async fn create(
    state: &AppState,
    user: UserId,
    request: CreateProjectRequest,
) -> Result<ProjectRow, Error> {
    let now = state.clock.now_naive();
    let mut new = NewProject {
        user_id: user.get(),
        name: text::parse_required_name(request.name.as_deref())?,
        description: text::parse_description(request.description.as_deref().unwrap_or_default())?,
        created_at: now,
        updated_at: now,
        seq: 0,
    };
    let change = move |db: &mut Db| {
        // A concurrent creation waits here, so the count stays valid.
        new.seq = sync::bump(db, user)?;
        if queries::count(db, user)? >= MAX_PROJECTS {
            return Err(Error::TooManyProjects);
        }
        Ok(queries::insert(db, &new)?)
    };
    state.pool.write_tx(change).await
}

pub(super) async fn update(
    state: &AppState,
    user: UserId,
    id: ProjectId,
    request: UpdateProjectRequest,
) -> Result<ProjectRow, Error> {
    let description = request.description.as_deref();
    let mut changes = ProjectChanges {
        name: request.name.as_deref().map(text::parse_name).transpose()?,
        description: description.map(text::parse_description).transpose()?,
        updated_at: state.clock.now_naive(),
        seq: 0,
    };
    let change = move |db: &mut Db| {
        changes.seq = sync::bump(db, user)?;
        queries::update(db, user, id, &changes)?.ok_or(Error::ProjectNotFound)
    };
    state.pool.write_tx(change).await
}

pub(super) async fn archive(state: &AppState, user: UserId, id: ProjectId) -> Result<(), Error> {
    let now = state.clock.now_naive();
    let change = move |db: &mut Db| {
        let seq = sync::bump(db, user)?;
        queries::find(db, user, id)?.ok_or(Error::ProjectNotFound)?;
        queries::archive(db, id, seq, now)?;
        Ok(())
    };
    state.pool.write_tx(change).await
}

pub(super) async fn list_all(
    state: &AppState,
    caller: &CurrentUser,
    archived: bool,
) -> Result<AllProjectsResponse, Error> {
    let user = caller.id;
    let teams = caller.teams.iter().map(|team| team.id).collect::<Vec<_>>();
    let list = move |db: &mut Db| {
        let personal = queries::list(db, user, archived)?;
        let of_teams = team_projects::queries::list(db, &teams, archived)?;
        Ok((personal, of_teams))
    };
    let (personal, of_teams) = state.read(list).await?;
    let personal = personal.into_iter().map(|row| AnyProject {
        id: ProjectRef::Personal(row.id).to_string(),
        name: row.name,
        kind: ProjectKind::Personal,
        team_id: None,
        team_name: None,
        archived: archived.then_some(row.archived_at.is_some()),
    });
    let of_teams = of_teams.into_iter().map(|row| AnyProject {
        id: ProjectRef::Team(row.id).to_string(),
        team_id: Some(row.team_id),
        team_name: Some(team_projects::team_name(&row, caller)),
        name: row.name,
        kind: ProjectKind::Team,
        archived: archived.then_some(row.archived_at.is_some()),
    });
    Ok(AllProjectsResponse {
        success: true,
        projects: personal.chain(of_teams).collect(),
    })
}
