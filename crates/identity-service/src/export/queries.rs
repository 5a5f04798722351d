use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::wire::{ExportedDeparture, ExportedInvitation, ExportedSession, ExportedTeam};
use crate::columns::{Columns, columns};
use crate::schema::{
    audit_log, invitations, sessions, team_departures, team_members, teams, users,
};
use crate::teams::queries::find_verified_address;

#[derive(Queryable, Selectable)]
#[diesel(table_name = team_members)]
pub(super) struct ExportMembershipRow {
    #[diesel(embed)]
    pub(super) team: ExportedTeam,
    #[diesel(select_expression = teams::owner_id)]
    pub(super) owner_id: UserId,
    pub(super) role: String,
    pub(super) joined_at: NaiveDateTime,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = audit_log)]
pub(super) struct EntryRow {
    pub(super) at: NaiveDateTime,
    pub(super) action: String,
    pub(super) session_id: Option<String>,
    pub(super) actor_id: Option<UserId>,
    pub(super) address: Option<String>,
    pub(super) via: String,
    pub(super) details: Option<String>,
}

pub(super) fn list_sessions(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ExportedSession>> {
    sessions::table
        .filter(sessions::user_id.eq(user_id))
        .order((sessions::created_at.desc(), sessions::id))
        .limit(limit)
        .select(columns::<ExportedSession>())
        .load(db)
}

pub(super) fn list_memberships(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ExportMembershipRow>> {
    team_members::table
        .inner_join(teams::table)
        .filter(team_members::user_id.eq(user_id))
        .order(teams::id)
        .limit(limit)
        .select(columns::<ExportMembershipRow>())
        .load(db)
}

/// Returns the teams that the account left, with the times.
pub(super) fn list_departures(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ExportedDeparture>> {
    team_departures::table
        .inner_join(teams::table)
        .filter(team_departures::user_id.eq(user_id))
        .order(teams::id)
        .limit(limit)
        .select(columns::<ExportedDeparture>())
        .load(db)
}

/// Returns the invitations that the account sent.
pub(super) fn list_sent(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ExportedInvitation>> {
    newest_invitations(limit)
        .filter(invitations::invited_by.eq(user_id))
        .load(db)
}

/// Returns the invitations that were sent to the account's verified address, or that it accepted.
pub(super) fn list_received(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<ExportedInvitation>> {
    // An address that is only claimed may be somebody else's. No stored address is empty.
    let email = find_verified_address(db, user_id)?;
    let email = email.unwrap_or_default().to_ascii_lowercase();
    let his = invitations::email_lower
        .eq(email)
        .or(invitations::accepted_by.eq(user_id));
    newest_invitations(limit).filter(his).load(db)
}

#[diesel::dsl::auto_type]
fn newest_invitations(limit: i64) -> _ {
    let columns: Columns<ExportedInvitation> = columns::<ExportedInvitation>();
    invitations::table
        .inner_join(teams::table)
        .left_join(users::table)
        .order((invitations::created_at.desc(), invitations::id))
        .limit(limit)
        .select(columns)
}

pub(super) fn list_entries(db: &mut Db, user_id: UserId, limit: i64) -> QueryResult<Vec<EntryRow>> {
    audit_log::table
        .filter(audit_log::user_id.eq(user_id.get()))
        .order(audit_log::id.desc())
        .limit(limit)
        .select(columns::<EntryRow>())
        .load(db)
}
