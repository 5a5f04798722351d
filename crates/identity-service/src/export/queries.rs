use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::exists;
use diesel::prelude::*;

use crate::schema::{
    audit_log, invitations, profile_photos, sessions, team_departures, team_members, teams,
    totp_factors, users,
};
use crate::teams::queries::find_proven_address;

/// A team's id, slug and name.
pub(super) type TeamNames = (TeamId, String, String);

#[derive(Queryable)]
pub(super) struct SessionRow {
    pub(super) id: String,
    pub(super) created_at: NaiveDateTime,
    pub(super) last_used_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
    pub(super) revoked_at: Option<NaiveDateTime>,
    pub(super) address: Option<String>,
    pub(super) user_agent: Option<String>,
    pub(super) kind: String,
    pub(super) service: Option<String>,
    pub(super) client_id: Option<String>,
    pub(super) scope: Option<String>,
}

#[derive(Queryable)]
pub(super) struct MembershipRow {
    pub(super) team: TeamNames,
    pub(super) owner_id: UserId,
    pub(super) role: String,
    pub(super) joined_at: NaiveDateTime,
}

#[derive(Queryable)]
pub(super) struct InvitationRow {
    pub(super) id: String,
    pub(super) team: TeamNames,
    pub(super) email: String,
    pub(super) role: String,
    pub(super) status: String,
    pub(super) invited_by: Option<String>,
    pub(super) created_at: NaiveDateTime,
    pub(super) expires_at: NaiveDateTime,
    pub(super) settled_at: Option<NaiveDateTime>,
}

/// Whose invitations are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Received,
    Sent,
}

#[derive(Queryable)]
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
) -> QueryResult<Vec<SessionRow>> {
    sessions::table
        .filter(sessions::user_id.eq(user_id))
        .order((sessions::created_at.desc(), sessions::id))
        .limit(limit)
        .select((
            sessions::id,
            sessions::created_at,
            sessions::refresh_rotated_at,
            sessions::expires_at,
            sessions::revoked_at,
            sessions::address,
            sessions::user_agent,
            sessions::kind,
            sessions::service,
            sessions::client_id,
            sessions::scope,
        ))
        .load(db)
}

pub(super) fn list_memberships(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<MembershipRow>> {
    team_members::table
        .inner_join(teams::table)
        .filter(team_members::user_id.eq(user_id))
        .order(teams::id)
        .limit(limit)
        .select((
            (teams::id, teams::slug, teams::name),
            teams::owner_id,
            team_members::role,
            team_members::joined_at,
        ))
        .load(db)
}

/// The teams that the account left, and when.
pub(super) fn list_departures(
    db: &mut Db,
    user_id: UserId,
    limit: i64,
) -> QueryResult<Vec<(TeamNames, NaiveDateTime)>> {
    team_departures::table
        .inner_join(teams::table)
        .filter(team_departures::user_id.eq(user_id))
        .order(teams::id)
        .limit(limit)
        .select((
            (teams::id, teams::slug, teams::name),
            team_departures::left_at,
        ))
        .load(db)
}

/// Invitations that the account sent, or that were sent to its proven address or accepted by it.
pub(super) fn list_invitations(
    db: &mut Db,
    user_id: UserId,
    side: Side,
    limit: i64,
) -> QueryResult<Vec<InvitationRow>> {
    let rows = invitations::table
        .inner_join(teams::table)
        .left_join(users::table)
        .order((invitations::created_at.desc(), invitations::id))
        .limit(limit)
        .select((
            invitations::id,
            (teams::id, teams::slug, teams::name),
            invitations::email,
            invitations::role,
            invitations::status,
            users::username.nullable(),
            invitations::created_at,
            invitations::expires_at,
            invitations::settled_at,
        ));
    match side {
        Side::Sent => rows.filter(invitations::invited_by.eq(user_id)).load(db),
        Side::Received => {
            // An address that is only claimed may be somebody else's. None is empty.
            let email = find_proven_address(db, user_id)?;
            let email = email.unwrap_or_default().to_ascii_lowercase();
            let his = invitations::email_lower
                .eq(email)
                .or(invitations::accepted_by.eq(user_id));
            rows.filter(his).load(db)
        }
    }
}

pub(super) fn list_entries(db: &mut Db, user_id: UserId, limit: i64) -> QueryResult<Vec<EntryRow>> {
    audit_log::table
        .filter(audit_log::user_id.eq(user_id.get()))
        .order(audit_log::id.desc())
        .limit(limit)
        .select((
            audit_log::at,
            audit_log::action,
            audit_log::session_id,
            audit_log::actor_id,
            audit_log::address,
            audit_log::via,
            audit_log::details,
        ))
        .load(db)
}

/// The type and the bytes of an account's photo.
pub(super) fn find_photo(db: &mut Db, user_id: UserId) -> QueryResult<Option<(String, Vec<u8>)>> {
    profile_photos::table
        .find(user_id)
        .select((profile_photos::content_type, profile_photos::bytes))
        .first(db)
        .optional()
}

pub(super) fn has_second_factor(db: &mut Db, user_id: UserId) -> QueryResult<bool> {
    let confirmed = totp_factors::table
        .find(user_id)
        .filter(totp_factors::confirmed_at.is_not_null());
    diesel::select(exists(confirmed)).get_result(db)
}
