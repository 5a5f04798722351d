use auth_types::TeamRole;
use db_kit::{DbError, is_unique_violation};
use serde_json::json;

use super::authorization::{TeamActor, TeamAdmin, TeamMember, TeamOwner};
use super::model::TeamPatch;
use super::queries::{self, NewTeam};
use super::removal::remove_team;
use super::slug::Slug;
use super::team_limits;
use super::wire::{ChangeTeamRequest, CreateTeamRequest, Team, TeamDetailResponse};
use crate::accounts::queries::lock_active;
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::names::parse_name;
use crate::request_context::RequestContext;

const MAX_DESCRIPTION_CHARS: usize = 2_000;

pub(crate) async fn list_teams(app: &App, caller: &CurrentUser) -> Result<Vec<Team>, Error> {
    let user_id = caller.account.id;
    let rows = app.read(move |db| queries::list_teams(db, user_id)).await?;
    Ok(rows
        .into_iter()
        .map(|(row, size)| row.into_wire(size))
        .collect())
}

/// Creates a team that the caller owns.
pub(crate) async fn create_team(
    app: &App,
    caller: &CurrentUser,
    request: CreateTeamRequest,
    context: &RequestContext,
) -> Result<Team, Error> {
    let slug = Slug::parse(&request.slug)?;
    let name = parse_name(&request.name)?;
    let description = request.description.map(parse_description).transpose()?;
    let (owner_id, caps) = (caller.account.id, app.teams);
    app.transact(&context.clone().for_caller(caller), move |tx| {
        let now = tx.now.naive_utc();
        let team = NewTeam {
            name: &name,
            slug: slug.as_str(),
            slug_lower: &slug.lower(),
            description: description.as_deref(),
            owner_id: owner_id.get(),
            created_at: now,
            updated_at: now,
        };
        let id = queries::insert_team(tx.db, &team).map_err(slug_taken)?;
        lock_active(tx.db, owner_id)?.ok_or(Error::TokenRevoked)?;
        queries::insert_member(tx.db, id, owner_id, TeamRole::Admin, now)?;
        team_limits::check_owned(tx.db, caps, owner_id)?;
        let team = queries::find_team(tx.db, id)?.ok_or(Error::TeamNotFound)?;
        tx.team_changed(team.to_ref(), false)?;
        tx.membership_changed(owner_id, team.to_ref(), Some(TeamRole::Owner))?;
        let details = json!({ "team_id": id, "slug": team.slug });
        tx.audit(&NewAuditEntry::on(AuditAction::TEAM_CREATED, owner_id).details(details))?;
        Ok(team.into_wire(1))
    })
    .await
}

pub(crate) async fn get_team(app: &App, member: TeamMember) -> Result<TeamDetailResponse, Error> {
    let id = member.team.id;
    let size = app.read(move |db| queries::count_members(db, id)).await?;
    Ok(TeamDetailResponse {
        team: member.team.into_wire(size),
        my_role: member.role,
    })
}

/// Changes the given fields; the slug only for the owner. A value equal to the current one is not a change.
pub(crate) async fn change_team(
    app: &App,
    admin: &TeamAdmin,
    request: ChangeTeamRequest,
    context: &RequestContext,
) -> Result<Team, Error> {
    let TeamMember { caller, team, role } = &admin.0;
    let other_slug = request.slug.filter(|slug| *slug != team.slug);
    // A missing permission is reported before an invalid slug.
    if other_slug.is_some() && *role < TeamRole::Owner {
        return Err(NOT_THE_SLUG);
    }
    let patch = TeamPatch {
        slug: other_slug.as_deref().map(Slug::parse).transpose()?,
        name: request.name.as_deref().map(parse_name).transpose()?,
        description: match request.description {
            Some(Some(text)) => Some(Some(parse_description(text)?)),
            cleared_or_absent => cleared_or_absent,
        },
    };
    let actor = TeamActor::from_member(&admin.0);
    app.transact(&context.clone().for_caller(caller), move |tx| {
        let (old, role) = actor.lock(tx, TeamRole::Admin)?;
        let new = old.patched(patch);
        if new.slug != old.slug && role < TeamRole::Owner {
            return Err(NOT_THE_SLUG);
        }
        let size = queries::count_members(tx.db, new.id)?;
        if new == old {
            return Ok(new.into_wire(size));
        }
        queries::update_team(tx.db, &new).map_err(slug_taken)?;
        if new.to_ref() != old.to_ref() {
            tx.team_changed(new.to_ref(), false)?;
        }
        let details =
            json!({ "team_id": new.id, "slug": new.slug, "changed": new.differs_in(&old) });
        tx.audit(&NewAuditEntry::new(AuditAction::TEAM_CHANGED).details(details))?;
        Ok(new.into_wire(size))
    })
    .await
}

/// Deletes a team with its memberships and invitations. One event covers all members.
pub(crate) async fn delete_team(
    app: &App,
    owner: &TeamOwner,
    context: &RequestContext,
) -> Result<(), Error> {
    let actor = TeamActor::from_member(&owner.0);
    app.transact(&context.clone().for_caller(&owner.0.caller), move |tx| {
        let (team, _) = actor.lock(tx, TeamRole::Owner)?;
        remove_team(tx, &team)
    })
    .await
}

const NOT_THE_SLUG: Error = Error::Forbidden("only the owner can change the slug");

fn parse_description(text: String) -> Result<String, Error> {
    if text.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err(Error::Validation(
            "description must have at most 2000 characters".into(),
        ));
    }
    Ok(text)
}

fn slug_taken(error: diesel::result::Error) -> Error {
    let error = DbError::from(error);
    if is_unique_violation(&error, "teams", &["slug_lower"]) {
        return Error::SlugTaken;
    }
    error.into()
}
