use std::sync::Arc;

use db_kit::Db;
use service_kit::http::Json;

use super::access::{get_as_manager, team_name};
use super::model::{NewTeamProject, TeamProjectChanges};
use super::queries;
use super::wire::{
    CreateTeamProjectRequest, TeamProjectDetail, TeamProjectSummary, TeamProjectsResponse,
    UpdateTeamProjectRequest,
};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::projects::{MAX_PROJECTS, TeamProjectId, text};

pub(super) async fn list(
    state: &AppState,
    caller: &CurrentUser,
    archived: bool,
) -> Result<TeamProjectsResponse, Error> {
    let teams = caller.teams.iter().map(|team| team.id).collect::<Vec<_>>();
    let list = move |db: &mut Db| queries::list(db, &teams, archived);
    let rows = state.read(list).await?;
    let summaries = rows.into_iter().map(|row| TeamProjectSummary {
        id: row.id,
        team_name: team_name(&row, caller),
        team_id: row.team_id,
        archived: archived.then_some(row.archived_at.is_some()),
        name: row.name,
    });
    Ok(TeamProjectsResponse {
        success: true,
        team_projects: summaries.collect(),
    })
}

pub(super) async fn detail(
    state: &AppState,
    caller: &CurrentUser,
    id: TeamProjectId,
) -> Result<TeamProjectDetail, Error> {
    let row = state.read(move |db| queries::find(db, id)).await?;
    let row = row.ok_or(Error::TeamProjectNotFound)?;
    if !row.is_public && caller.membership(row.team_id).is_none() {
        return Err(Error::TeamProjectForbidden);
    }
    let team_name = team_name(&row, caller);
    Ok(TeamProjectDetail::new(row, team_name))
}

pub(super) async fn create(
    state: &AppState,
    caller: &CurrentUser,
    request: CreateTeamProjectRequest,
) -> Result<TeamProjectDetail, Error> {
    let team_id = request
        .team_id
        .ok_or_else(|| Error::invalid("team_id is required"))?;
    // Authorization comes before the rest of the body.
    let team = caller
        .membership(team_id)
        .filter(|_| caller.manages(team_id));
    let team_name = team.ok_or(Error::TeamProjectChangeForbidden)?.name.clone();
    let name = text::parse_required_name(request.name.as_deref())?;
    let description = text::parse_description(request.description.as_deref().unwrap_or_default())?;
    let chat_channel = text::parse_channel(request.chat_channel.as_deref().unwrap_or_default())?;
    let now = state.clock.now_naive();
    let new = NewTeamProject {
        team_id: team_id.get(),
        team_name: team_name.clone(),
        name,
        description,
        chat_channel,
        is_public: request.is_public.unwrap_or_default(),
        created_at: now,
        updated_at: now,
    };
    let insert = move |db: &mut Db| {
        if queries::count_and_lock(db, team_id)? >= MAX_PROJECTS {
            return Err(Error::TooManyProjects);
        }
        Ok(queries::insert(db, &new)?)
    };
    let row = state.pool.write_tx(insert).await?;
    Ok(TeamProjectDetail::new(row, team_name))
}

pub(super) async fn update(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
    request: Json<UpdateTeamProjectRequest>,
) -> Result<TeamProjectDetail, Error> {
    let updated_at = state.clock.now_naive();
    let change = move |db: &mut Db| {
        // Authorization comes before the body.
        let row = get_as_manager(db, id, &caller)?;
        let request = request.into_inner()?;
        let description = request.description.as_deref();
        let chat_channel = request.chat_channel.as_deref();
        let changes = TeamProjectChanges {
            team_name: team_name(&row, &caller),
            name: request.name.as_deref().map(text::parse_name).transpose()?,
            description: description.map(text::parse_description).transpose()?,
            chat_channel: chat_channel.map(text::parse_channel).transpose()?,
            is_public: request.is_public,
            updated_at,
        };
        let row = queries::update(db, id, &changes)?;
        let team_name = row.team_name.clone();
        Ok(TeamProjectDetail::new(row, team_name))
    };
    state.pool.write_tx(change).await
}

pub(super) async fn archive(
    state: &AppState,
    caller: Arc<CurrentUser>,
    id: TeamProjectId,
) -> Result<(), Error> {
    let now = state.clock.now_naive();
    let change = move |db: &mut Db| {
        get_as_manager(db, id, &caller)?;
        queries::archive(db, id, now)?;
        Ok(())
    };
    state.pool.write_tx(change).await
}
