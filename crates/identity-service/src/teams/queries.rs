use auth_types::{TeamId, TeamRole, UserId};
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::dsl::{count_star, exists};
use diesel::prelude::*;

use super::model::{MemberRow, MembershipRow, TeamRow};
use crate::columns::columns;
use crate::config::TeamsConfig;
use crate::schema::{team_departures, team_members, teams, users};

/// The most teams that are listed for an account: the highest configurable limits of owned and joined teams together.
const MAX_TEAMS: i64 = 2 * TeamsConfig::HIGHEST;

#[derive(Insertable)]
#[diesel(table_name = teams)]
pub(crate) struct NewTeam<'a> {
    pub(crate) name: &'a str,
    pub(crate) slug: &'a str,
    pub(crate) slug_lower: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) owner_id: i64,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
}

pub(crate) fn insert_team(db: &mut Db, team: &NewTeam<'_>) -> QueryResult<TeamId> {
    diesel::insert_into(teams::table)
        .values(team)
        .returning(teams::id)
        .get_result(db)
}

pub(crate) fn find_team(db: &mut Db, id: TeamId) -> QueryResult<Option<TeamRow>> {
    teams::table
        .find(id)
        .select(columns::<TeamRow>())
        .first(db)
        .optional()
}

/// Finds the owner of a team and the stored role of an account in it.
pub(crate) fn find_role(
    db: &mut Db,
    id: TeamId,
    user_id: UserId,
) -> QueryResult<Option<(UserId, String)>> {
    team_members::table
        .inner_join(teams::table)
        .filter(team_members::team_id.eq(id))
        .filter(team_members::user_id.eq(user_id))
        .select((teams::owner_id, team_members::role))
        .first(db)
        .optional()
}

/// Finds a team by its slug with the stored role of the account, if the account is a member.
pub(crate) fn find_team_of(
    db: &mut Db,
    slug_lower: &str,
    user_id: UserId,
) -> QueryResult<Option<(TeamRow, String)>> {
    team_members::table
        .inner_join(teams::table)
        .filter(teams::slug_lower.eq(slug_lower))
        .filter(team_members::user_id.eq(user_id))
        .select((columns::<TeamRow>(), team_members::role))
        .first(db)
        .optional()
}

/// Lists the account's teams with their sizes: its own first, then oldest first.
pub(crate) fn list_teams(db: &mut Db, user_id: UserId) -> QueryResult<Vec<(TeamRow, i64)>> {
    let rows: Vec<TeamRow> = team_members::table
        .inner_join(teams::table)
        .filter(team_members::user_id.eq(user_id))
        .order((teams::owner_id.ne(user_id), teams::id))
        .limit(MAX_TEAMS)
        .select(columns::<TeamRow>())
        .load(db)?;
    let own = diesel::alias!(team_members as own);
    let own = own
        .filter(own.field(team_members::user_id).eq(user_id))
        .select(own.field(team_members::team_id));
    let sizes: Vec<(TeamId, i64)> = team_members::table
        .filter(team_members::team_id.eq_any(own))
        .group_by(team_members::team_id)
        .select((team_members::team_id, count_star()))
        .load(db)?;
    let sizes: std::collections::HashMap<_, _> = sizes.into_iter().collect();
    Ok(rows
        .into_iter()
        .map(|row| {
            let size = sizes.get(&row.id).copied().unwrap_or(0);
            (row, size)
        })
        .collect())
}

/// Lists the account's teams for the validation response, in the order of [`list_teams`].
pub(crate) fn list_memberships(db: &mut Db, user_id: UserId) -> QueryResult<Vec<MembershipRow>> {
    team_members::table
        .inner_join(teams::table)
        .filter(team_members::user_id.eq(user_id))
        .order((teams::owner_id.ne(user_id), teams::id))
        .limit(MAX_TEAMS)
        .select(columns::<MembershipRow>())
        .load(db)
}

/// Locks the team with its members and invitations until the end of the transaction. Returns its current row, or `None`
/// if it was deleted. It is an UPDATE, because both databases lock with it.
///
/// All code takes locks in one order, to prevent deadlocks: teams, then accounts, both by ascending id, then the rows
/// that depend on them. [`crate::accounts::queries::lock_active`] locks an account, and so does any change of `users`.
pub(crate) fn lock_team(
    db: &mut Db,
    id: TeamId,
    now: NaiveDateTime,
) -> QueryResult<Option<TeamRow>> {
    diesel::update(teams::table.find(id))
        .set(teams::updated_at.eq(now))
        .returning(columns::<TeamRow>())
        .get_result(db)
        .optional()
}

/// Finds the account's e-mail address if it is verified.
pub(crate) fn find_verified_address(db: &mut Db, id: UserId) -> QueryResult<Option<String>> {
    users::table
        .find(id)
        .filter(users::email_verified.eq(true))
        .select(users::email)
        .first(db)
        .optional()
}

pub(crate) fn update_team(db: &mut Db, team: &TeamRow) -> QueryResult<()> {
    diesel::update(teams::table.find(team.id))
        .set((
            teams::name.eq(&team.name),
            teams::slug.eq(&team.slug),
            teams::slug_lower.eq(team.slug.to_ascii_lowercase()),
            teams::description.eq(&team.description),
        ))
        .execute(db)
        .map(drop)
}

/// Deletes a team. Its memberships and invitations are deleted by cascade.
pub(crate) fn delete_team(db: &mut Db, id: TeamId) -> QueryResult<()> {
    diesel::delete(teams::table.find(id)).execute(db).map(drop)
}

pub(crate) fn count_owned(db: &mut Db, user_id: UserId) -> QueryResult<i64> {
    teams::table
        .filter(teams::owner_id.eq(user_id))
        .count()
        .get_result(db)
}

/// Counts the teams of others that the account is in.
pub(crate) fn count_joined(db: &mut Db, user_id: UserId) -> QueryResult<i64> {
    team_members::table
        .inner_join(teams::table)
        .filter(team_members::user_id.eq(user_id))
        .filter(teams::owner_id.ne(user_id))
        .count()
        .get_result(db)
}

pub(crate) fn set_owner(db: &mut Db, id: TeamId, owner_id: UserId) -> QueryResult<()> {
    diesel::update(teams::table.find(id))
        .set(teams::owner_id.eq(owner_id))
        .execute(db)
        .map(drop)
}

pub(crate) fn insert_member(
    db: &mut Db,
    team_id: TeamId,
    user_id: UserId,
    role: TeamRole,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::insert_into(team_members::table)
        .values((
            team_members::team_id.eq(team_id),
            team_members::user_id.eq(user_id),
            team_members::role.eq(role.as_str()),
            team_members::joined_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

pub(crate) fn set_role(
    db: &mut Db,
    team_id: TeamId,
    user_id: UserId,
    role: TeamRole,
) -> QueryResult<()> {
    diesel::update(team_members::table.find((team_id, user_id)))
        .set(team_members::role.eq(role.as_str()))
        .execute(db)
        .map(drop)
}

pub(crate) fn delete_member(db: &mut Db, team_id: TeamId, user_id: UserId) -> QueryResult<()> {
    diesel::delete(team_members::table.find((team_id, user_id)))
        .execute(db)
        .map(drop)
}

/// Records that a member left on their own. The caller has locked the team, here and in the next two functions.
pub(crate) fn insert_departure(
    db: &mut Db,
    team_id: TeamId,
    user_id: UserId,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::insert_into(team_departures::table)
        .values((
            team_departures::team_id.eq(team_id),
            team_departures::user_id.eq(user_id),
            team_departures::left_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Whether an account left on its own and has not returned.
pub(crate) fn has_left(db: &mut Db, team_id: TeamId, user_id: UserId) -> QueryResult<bool> {
    let departure = team_departures::table.find((team_id, user_id));
    diesel::select(exists(departure)).get_result(db)
}

/// Deletes the record that an account left, because it returns.
pub(crate) fn delete_departure(db: &mut Db, team_id: TeamId, user_id: UserId) -> QueryResult<()> {
    diesel::delete(team_departures::table.find((team_id, user_id)))
        .execute(db)
        .map(drop)
}

pub(crate) fn find_stored_role(
    db: &mut Db,
    team_id: TeamId,
    user_id: UserId,
) -> QueryResult<Option<String>> {
    team_members::table
        .find((team_id, user_id))
        .select(team_members::role)
        .first(db)
        .optional()
}

pub(crate) fn find_member(
    db: &mut Db,
    team_id: TeamId,
    username_lower: &str,
) -> QueryResult<Option<MemberRow>> {
    team_members::table
        .inner_join(users::table)
        .filter(team_members::team_id.eq(team_id))
        .filter(users::username_lower.eq(username_lower))
        .select(columns::<MemberRow>())
        .first(db)
        .optional()
}

/// Lists a page of a team's members in the order in which they joined.
pub(crate) fn list_members(
    db: &mut Db,
    team_id: TeamId,
    limit: i64,
    offset: i64,
) -> QueryResult<Vec<MemberRow>> {
    team_members::table
        .inner_join(users::table)
        .filter(team_members::team_id.eq(team_id))
        .order((team_members::joined_at, team_members::user_id))
        .limit(limit)
        .offset(offset)
        .select(columns::<MemberRow>())
        .load(db)
}

pub(crate) fn count_members(db: &mut Db, team_id: TeamId) -> QueryResult<i64> {
    team_members::table
        .filter(team_members::team_id.eq(team_id))
        .count()
        .get_result(db)
}
