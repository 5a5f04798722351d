use std::sync::Arc;

use auth_types::TeamRole;
use db_kit::{Db, DbError, is_unique_violation};
use serde_json::json;

use super::authorization::{TeamActor, TeamAdmin, TeamMember};
use super::model::{MemberRow, TeamRow};
use super::queries;
use super::removal::end_membership;
use super::team_limits;
use super::wire::{AddMemberRequest, Member, MembersResponse, PageQuery, given_role, parse_role};
use crate::accounts::queries::lock_active;
use crate::accounts::{self, name_to_look_up};
use crate::app::App;
use crate::audit::{AuditAction, NewAuditEntry};
use crate::config::TeamsConfig;
use crate::error::Error;
use crate::request_context::RequestContext;
use crate::transaction::Transaction;

pub(crate) async fn list_members(
    app: &App,
    member: &TeamMember,
    page: PageQuery,
) -> Result<MembersResponse, Error> {
    let (limit, offset) = page.bounds()?;
    let (id, owner_id) = (member.team.id, member.team.owner_id);
    let base_url = Arc::clone(&app.base_url);
    app.pool
        .read(move |db| {
            let rows = queries::list_members(db, id, limit, offset)?;
            let members = rows
                .into_iter()
                .map(|row| row.into_wire(owner_id, &base_url))
                .collect::<Result<_, _>>()?;
            Ok(MembersResponse {
                members,
                total: queries::count_members(db, id)?,
            })
        })
        .await
}

pub(crate) async fn find_member(
    app: &App,
    member: &TeamMember,
    username: &str,
) -> Result<Member, Error> {
    let (team, username) = (member.team.clone(), name_to_look_up(username));
    let base_url = Arc::clone(&app.base_url);
    app.pool
        .read(move |db| get_member(db, &team, &username)?.into_wire(team.owner_id, &base_url))
        .await
}

/// Adds an account to a team as member or admin, without an invitation. An account that left on its own must be invited.
pub(crate) async fn add_member(
    app: &App,
    admin: &TeamAdmin,
    request: AddMemberRequest,
    context: &RequestContext,
) -> Result<Member, Error> {
    if !app.teams.direct_add {
        return Err(Error::InvitationRequired);
    }
    let role = given_role(request.role.as_deref())?;
    let username = name_to_look_up(&request.username);
    let (actor, caps) = (TeamActor::from_member(&admin.0), app.teams);
    app.transact(&context.clone().for_caller(&admin.0.caller), move |tx| {
        let (team, _) = actor.lock(tx, TeamRole::Admin)?;
        let id = accounts::queries::find_by_name(tx.db, &username)?
            .ok_or(Error::UserNotFound)?
            .id;
        lock_active(tx.db, id)?.ok_or(Error::UserNotFound)?;
        if queries::has_left(tx.db, team.id, id)? {
            return Err(Error::MemberLeft);
        }
        let now = tx.now.naive_utc();
        queries::insert_member(tx.db, team.id, id, role, now).map_err(already_member)?;
        team_limits::check_joined(tx.db, caps, id)?;
        tx.membership_changed(id, team.to_ref(), Some(role))?;
        let details = json!({ "team_id": team.id, "slug": team.slug, "role": role });
        tx.audit(&NewAuditEntry::on(AuditAction::MEMBER_ADDED, id).details(details))?;
        get_member(tx.db, &team, &username)?.into_wire(team.owner_id, tx.base_url)
    })
    .await
}

/// Changes a member's role. The role `owner` hands the team over.
pub(crate) async fn change_role(
    app: &App,
    admin: &TeamAdmin,
    username: &str,
    role: &str,
    context: &RequestContext,
) -> Result<Member, Error> {
    let role = parse_role(role)?;
    let username = name_to_look_up(username);
    let (actor, caps) = (TeamActor::from_member(&admin.0), app.teams);
    app.transact(&context.clone().for_caller(&admin.0.caller), move |tx| {
        let (team, my_role) = actor.lock(tx, TeamRole::Admin)?;
        let target = get_member(tx.db, &team, &username)?;
        let current = target.role(team.owner_id)?;
        if current.max(role) == TeamRole::Owner && my_role != TeamRole::Owner {
            return Err(Error::Forbidden("only the owner can hand a team over"));
        }
        let owner_id = match (current, role) {
            (current, role) if current == role => {
                return target.into_wire(team.owner_id, tx.base_url);
            }
            (TeamRole::Owner, _) => return Err(Error::LastOwner),
            (_, TeamRole::Owner) => {
                transfer_ownership(tx, &team, &target, caps)?;
                target.user_id
            }
            (_, role) => {
                queries::set_role(tx.db, team.id, target.user_id, role)?;
                let details = json!({ "team_id": team.id, "slug": team.slug, "role": role });
                let entry = NewAuditEntry::on(AuditAction::MEMBER_ROLE_CHANGED, target.user_id);
                tx.audit(&entry.details(details))?;
                team.owner_id
            }
        };
        tx.membership_changed(target.user_id, team.to_ref(), Some(role))?;
        get_member(tx.db, &team, &username)?.into_wire(owner_id, tx.base_url)
    })
    .await
}

/// Makes a member the owner. The previous owner becomes an admin.
fn transfer_ownership(
    tx: &mut Transaction<'_>,
    team: &TeamRow,
    new_owner: &MemberRow,
    caps: TeamsConfig,
) -> Result<(), Error> {
    let mut accounts = [team.owner_id, new_owner.user_id];
    accounts.sort();
    for id in accounts {
        // A team whose owner cannot sign in could never be handed back.
        lock_active(tx.db, id)?.ok_or(Error::MemberNotFound)?;
    }
    queries::set_role(tx.db, team.id, team.owner_id, TeamRole::Admin)?;
    queries::set_owner(tx.db, team.id, new_owner.user_id)?;
    team_limits::check_owned(tx.db, caps, new_owner.user_id)?;
    team_limits::check_joined(tx.db, caps, team.owner_id)?;
    tx.membership_changed(team.owner_id, team.to_ref(), Some(TeamRole::Admin))?;
    let details = json!({ "team_id": team.id, "slug": team.slug, "from": team.owner_id });
    tx.audit(&NewAuditEntry::on(AuditAction::TEAM_HANDED_OVER, new_owner.user_id).details(details))
}

/// Removes a member. With the caller's own username, the caller leaves.
pub(crate) async fn remove_member(
    app: &App,
    member: &TeamMember,
    username: &str,
    context: &RequestContext,
) -> Result<(), Error> {
    let username = name_to_look_up(username);
    if member.caller.account.username.to_ascii_lowercase() == username {
        return leave(app, member, context).await;
    }
    let actor = TeamActor::from_member(member);
    app.transact(&context.clone().for_caller(&member.caller), move |tx| {
        let (team, _) = actor.lock(tx, TeamRole::Admin)?;
        let target = get_member(tx.db, &team, &username)?;
        if target.user_id == team.owner_id {
            return Err(Error::Forbidden("the owner cannot be removed"));
        }
        end_membership(tx, &team, target.user_id)
    })
    .await
}

/// Ends the caller's membership. Afterwards they can only return by invitation.
pub(crate) async fn leave(
    app: &App,
    member: &TeamMember,
    context: &RequestContext,
) -> Result<(), Error> {
    let username = member.caller.account.username.to_ascii_lowercase();
    let actor = TeamActor::from_member(member);
    app.transact(&context.clone().for_caller(&member.caller), move |tx| {
        let (team, role) = actor.lock(tx, TeamRole::Member)?;
        if role == TeamRole::Owner {
            return Err(Error::LastOwner);
        }
        let target = get_member(tx.db, &team, &username)?;
        end_membership(tx, &team, target.user_id)?;
        let now = tx.now.naive_utc();
        Ok(queries::insert_departure(
            tx.db,
            team.id,
            target.user_id,
            now,
        )?)
    })
    .await
}

fn get_member(db: &mut Db, team: &TeamRow, username_lower: &str) -> Result<MemberRow, Error> {
    queries::find_member(db, team.id, username_lower)?.ok_or(Error::MemberNotFound)
}

fn already_member(error: diesel::result::Error) -> Error {
    let error = DbError::from(error);
    if is_unique_violation(&error, "team_members", &["team_id", "user_id"]) {
        return Error::AlreadyMember;
    }
    error.into()
}
