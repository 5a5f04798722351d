use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use db_kit::{Db, DbBackend};
use diesel::dsl::{InnerJoin, IntoBoxed, LeftJoin};
use diesel::prelude::*;

use super::model::{InvitationRef, InvitationRow, NewInvitation, OpenInvitation};
use super::wire::InvitationStatus;
use crate::columns::columns;
use crate::schema::{invitations, team_members, teams, users};

/// Invitations joined with their teams and inviters.
type Joined<'a> =
    IntoBoxed<'a, LeftJoin<InnerJoin<invitations::table, teams::table>, users::table>, DbBackend>;

pub(super) fn insert(db: &mut Db, invitation: &NewInvitation<'_>) -> QueryResult<()> {
    diesel::insert_into(invitations::table)
        .values(invitation)
        .execute(db)
        .map(drop)
}

/// Renews the pending invitation of an address to the team with a new token, role, inviter and expiry, even if it has
/// expired. Returns its id, or `None` if there is none.
pub(super) fn renew(db: &mut Db, by: &NewInvitation<'_>) -> QueryResult<Option<String>> {
    let pending = invitations::table
        .filter(invitations::team_id.eq(by.team_id))
        .filter(invitations::email_lower.eq(by.email_lower))
        .filter(invitations::status.eq(InvitationStatus::Pending.as_str()));
    diesel::update(pending)
        .set((
            invitations::email.eq(by.email),
            invitations::role.eq(by.role),
            invitations::token_hash.eq(by.token_hash),
            invitations::invited_by.eq(by.invited_by),
            invitations::expires_at.eq(by.expires_at),
        ))
        .returning(invitations::id)
        .get_result(db)
        .optional()
}

/// Settles a pending invitation that has not expired. This statement decides every race: only one of several
/// concurrent callers gets true.
pub(super) fn set_status(
    db: &mut Db,
    id: &str,
    status: InvitationStatus,
    accepted_by: Option<UserId>,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let pending = invitations::table
        .find(id)
        .filter(invitations::status.eq(InvitationStatus::Pending.as_str()))
        .filter(invitations::expires_at.gt(now));
    diesel::update(pending)
        .set((
            invitations::status.eq(status.as_str()),
            invitations::accepted_by.eq(accepted_by.map(UserId::get)),
            invitations::settled_at.eq(now),
        ))
        .execute(db)
        .map(|settled| settled == 1)
}

/// Revokes the invitations to a team that an account has sent, and those to its address. Returns their ids.
pub(super) fn withdraw(
    db: &mut Db,
    team_id: TeamId,
    sent_by: UserId,
    sent_to: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<Vec<String>> {
    let concerned = invitations::invited_by
        .eq(sent_by)
        // No stored address is empty.
        .or(invitations::email_lower.eq(sent_to.unwrap_or_default()));
    let pending = invitations::table
        .filter(invitations::team_id.eq(team_id))
        .filter(invitations::status.eq(InvitationStatus::Pending.as_str()))
        .filter(invitations::expires_at.gt(now))
        .filter(concerned);
    diesel::update(pending)
        .set((
            invitations::status.eq(InvitationStatus::Revoked.as_str()),
            invitations::settled_at.eq(now),
        ))
        .returning(invitations::id)
        .get_results(db)
}

pub(super) fn find_open(
    db: &mut Db,
    reference: &InvitationRef,
) -> QueryResult<Option<OpenInvitation>> {
    let all = invitations::table.select(columns::<OpenInvitation>());
    match reference {
        InvitationRef::Id(id) => all.filter(invitations::id.eq(id)).first(db),
        InvitationRef::Token(hash) => all.filter(invitations::token_hash.eq(hash)).first(db),
    }
    .optional()
}

pub(super) fn find_of_team(
    db: &mut Db,
    team_id: TeamId,
    id: &str,
) -> QueryResult<Option<InvitationRow>> {
    let row = joined()
        .filter(invitations::team_id.eq(team_id))
        .filter(invitations::id.eq(id));
    Ok(load(db, row, 1, 0)?.pop())
}

pub(super) fn find_by_token(db: &mut Db, hash: &str) -> QueryResult<Option<InvitationRow>> {
    let row = joined().filter(invitations::token_hash.eq(hash));
    Ok(load(db, row, 1, 0)?.pop())
}

/// Returns a page of a team's invitations, newest first, and their total.
pub(super) fn list_of_team(
    db: &mut Db,
    team_id: TeamId,
    status: Option<InvitationStatus>,
    now: NaiveDateTime,
    (limit, offset): (i64, i64),
) -> QueryResult<(Vec<InvitationRow>, i64)> {
    let wanted = || {
        let all = joined().filter(invitations::team_id.eq(team_id));
        match status {
            Some(status) => with_status(all, status, now),
            None => all,
        }
    };
    let total = wanted().count().get_result(db)?;
    Ok((load(db, wanted(), limit, offset)?, total))
}

/// Returns a page of the pending invitations for an address, newest first, and their total.
pub(super) fn list_pending(
    db: &mut Db,
    email_lower: &str,
    now: NaiveDateTime,
    (limit, offset): (i64, i64),
) -> QueryResult<(Vec<InvitationRow>, i64)> {
    let wanted = || {
        let all = joined().filter(invitations::email_lower.eq(email_lower));
        with_status(all, InvitationStatus::Pending, now)
    };
    let total = wanted().count().get_result(db)?;
    Ok((load(db, wanted(), limit, offset)?, total))
}

/// Returns the slug of the team that an account joined with an invitation, while it is a member.
pub(super) fn find_joined(
    db: &mut Db,
    token_hash: &str,
    user_id: UserId,
) -> QueryResult<Option<String>> {
    invitations::table
        .inner_join(teams::table.inner_join(team_members::table))
        .filter(invitations::token_hash.eq(token_hash))
        .filter(invitations::accepted_by.eq(user_id.get()))
        .filter(team_members::user_id.eq(user_id))
        .select(teams::slug)
        .first(db)
        .optional()
}

fn joined<'a>() -> Joined<'a> {
    invitations::table
        .inner_join(teams::table)
        .left_join(users::table)
        .into_boxed()
}

/// Filters by status. Expiry is not stored: an expired invitation is still pending in the table.
fn with_status<'a>(all: Joined<'a>, status: InvitationStatus, now: NaiveDateTime) -> Joined<'a> {
    let stored = match status {
        InvitationStatus::Expired => InvitationStatus::Pending,
        status => status,
    };
    let all = all.filter(invitations::status.eq(stored.as_str()));
    match status {
        InvitationStatus::Pending => all.filter(invitations::expires_at.gt(now)),
        InvitationStatus::Expired => all.filter(invitations::expires_at.le(now)),
        _ => all,
    }
}

fn load(
    db: &mut Db,
    wanted: Joined<'_>,
    limit: i64,
    offset: i64,
) -> QueryResult<Vec<InvitationRow>> {
    wanted
        .order((invitations::created_at.desc(), invitations::id.desc()))
        .limit(limit)
        .offset(offset)
        .select(columns::<InvitationRow>())
        .load(db)
}
