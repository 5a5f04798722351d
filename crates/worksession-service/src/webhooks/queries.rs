use std::collections::{BTreeSet, HashSet};

use auth_types::{TeamId, UserId};
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use super::model::{DELETED, WebhookOwner, WebhookRow, WebhookSubscriber};
use crate::columns::columns;
use crate::integrations::{ACTIVE, DISABLED, IntegrationCreator, WebhookId};
use crate::schema::webhooks;

pub(super) struct NewWebhook {
    pub(super) owner: WebhookOwner,
    pub(super) description: String,
    pub(super) origin: String,
    pub(super) events: String,
    pub(super) now: NaiveDateTime,
    pub(super) creator: IntegrationCreator,
}

/// Inserts a webhook into its owner's first free slot; none when all are taken. If several requests take a slot at
/// once, one gets it and the others violate the table's constraint.
pub(super) fn insert(db: &mut Db, new: &NewWebhook) -> QueryResult<Option<WebhookId>> {
    let insert = statement::<BigInt>(
        "INSERT INTO webhooks (user_id, team_id, slot, description, origin, events, revision, status, \
          created_at, updated_at, secret_changed_at, created_by, client_id, session_id) \
         SELECT $1, $2, column1, $3, $4, $5, 1, 'active', $6, $6, $6, $7, $8, $9 \
         FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), \
            (13), (14), (15), (16), (17), (18), (19), (20)) AS slots \
         WHERE column1 NOT IN (SELECT slot FROM webhooks WHERE slot IS NOT NULL AND (user_id = $1 OR team_id = $2)) \
         ORDER BY column1 LIMIT 1 RETURNING id",
    );
    let (user, team) = new.owner.columns();
    let insert = insert
        .bind::<Nullable<BigInt>, _>(user)
        .bind::<Nullable<BigInt>, _>(team)
        .bind::<Text, _>(&new.description)
        .bind::<Text, _>(&new.origin)
        .bind::<Text, _>(&new.events)
        .bind::<Timestamp, _>(new.now)
        .bind::<Nullable<BigInt>, _>(new.creator.created_by)
        .bind::<Nullable<Text>, _>(&new.creator.client_id)
        .bind::<Nullable<Text>, _>(&new.creator.session_id);
    let ids: Vec<i64> = insert.load(db)?;
    Ok(ids.first().copied().and_then(WebhookId::new))
}

/// Finds a webhook that is not deleted.
pub(super) fn find(db: &mut Db, id: WebhookId) -> QueryResult<Option<WebhookRow>> {
    webhooks::table
        .filter(webhooks::id.eq(id))
        .filter(webhooks::status.ne(DELETED))
        .select(columns::<WebhookRow>())
        .first(db)
        .optional()
}

/// Finds a webhook that is not deleted, and locks it until the transaction ends: its next revision builds on this one.
pub(super) fn lock(db: &mut Db, id: WebhookId) -> QueryResult<Option<WebhookRow>> {
    let one = webhooks::table
        .filter(webhooks::id.eq(id))
        .filter(webhooks::status.ne(DELETED))
        .select(columns::<WebhookRow>());
    match db {
        Db::Pg(conn) => one.for_update().first(conn).optional(),
        Db::Sqlite(conn) => one.first(conn).optional(),
    }
}

/// Lists the user's webhooks, then those of these teams, oldest first.
pub(super) fn list(db: &mut Db, user: UserId, teams: &[TeamId]) -> QueryResult<Vec<WebhookRow>> {
    let all = || {
        webhooks::table
            .filter(webhooks::status.ne(DELETED))
            .order(webhooks::id)
            .select(columns::<WebhookRow>())
    };
    let mut rows: Vec<WebhookRow> = all().filter(webhooks::user_id.eq(user.get())).load(db)?;
    if !teams.is_empty() {
        let teams = teams.iter().map(|team| team.get());
        let of_teams: Vec<WebhookRow> = all().filter(webhooks::team_id.eq_any(teams)).load(db)?;
        rows.extend(of_teams);
    }
    Ok(rows)
}

/// Stores the columns of a webhook that can change.
pub(super) fn update(db: &mut Db, row: &WebhookRow) -> QueryResult<()> {
    diesel::update(webhooks::table.filter(webhooks::id.eq(row.id)))
        .set((
            webhooks::description.eq(&row.description),
            webhooks::origin.eq(&row.origin),
            webhooks::sealed.eq(&row.sealed),
            webhooks::events.eq(&row.events),
            webhooks::revision.eq(row.revision),
            webhooks::status.eq(&row.status),
            webhooks::reason.eq(&row.reason),
            webhooks::updated_at.eq(row.updated_at),
            webhooks::secret_changed_at.eq(row.secret_changed_at),
            webhooks::created_by.eq(row.creator.created_by),
            webhooks::client_id.eq(&row.creator.client_id),
            webhooks::session_id.eq(&row.creator.session_id),
        ))
        .execute(db)
        .map(drop)
}

/// Marks a webhook as deleted and frees its slot.
pub(super) fn mark_deleted(
    db: &mut Db,
    id: WebhookId,
    revision: i64,
    now: NaiveDateTime,
) -> QueryResult<()> {
    diesel::update(webhooks::table.filter(webhooks::id.eq(id)))
        .set((
            webhooks::slot.eq(None::<i32>),
            webhooks::sealed.eq(None::<String>),
            webhooks::revision.eq(revision),
            webhooks::status.eq(DELETED),
            webhooks::updated_at.eq(now),
        ))
        .execute(db)
        .map(drop)
}

/// Returns up to `limit` webhooks of an owner, including deleted ones.
pub(super) fn list_by_owner(
    db: &mut Db,
    owner: WebhookOwner,
    limit: i64,
) -> QueryResult<Vec<WebhookRow>> {
    let (user, team) = owner.columns();
    let rows = webhooks::table
        .order(webhooks::id)
        .limit(limit)
        .select(columns::<WebhookRow>());
    match (user, team) {
        (Some(user), _) => rows.filter(webhooks::user_id.eq(user)).load(db),
        (None, team) => rows.filter(webhooks::team_id.eq(team)).load(db),
    }
}

/// Finds a webhook that is marked as deleted.
pub(super) fn find_deleted(db: &mut Db) -> QueryResult<Option<WebhookId>> {
    webhooks::table
        // A literal instead of a bound value: only then does every plan use the index of deleted webhooks.
        .filter(diesel::dsl::sql::<diesel::sql_types::Bool>(
            "webhooks.status = 'deleted'",
        ))
        .order(webhooks::id)
        .select(webhooks::id)
        .first(db)
        .optional()
}

/// Deletes a webhook for good, once its log is empty.
pub(super) fn delete(db: &mut Db, id: WebhookId) -> QueryResult<usize> {
    diesel::delete(webhooks::table.filter(webhooks::id.eq(id))).execute(db)
}

/// Disables a webhook unless it has changed since, and returns its description and origin.
pub(super) fn disable(
    db: &mut Db,
    id: WebhookId,
    revision: i64,
    reason: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<(String, String)>> {
    let current = webhooks::table
        .filter(webhooks::id.eq(id))
        .filter(webhooks::revision.eq(revision))
        .filter(webhooks::status.eq(ACTIVE));
    diesel::update(current)
        .set((
            webhooks::status.eq(DISABLED),
            webhooks::reason.eq(reason),
            webhooks::updated_at.eq(now),
        ))
        .returning((webhooks::description, webhooks::origin))
        .get_result(db)
        .optional()
}

#[derive(Debug)]
pub(super) struct SubscriberIndex {
    users: HashSet<i64>,
    teams: HashSet<i64>,
}

impl SubscriberIndex {
    /// Whether a webhook receives a user's sessions on a project of that team.
    pub(super) fn has_subscriber(&self, (user, team): (UserId, Option<TeamId>)) -> bool {
        self.users.contains(&user.get())
            || team.is_some_and(|team| self.teams.contains(&team.get()))
    }
}

/// Returns those of these users, and of the teams of their sessions, that have an active webhook.
pub(super) fn load_index(
    db: &mut Db,
    owners: &[(UserId, Option<TeamId>)],
) -> QueryResult<SubscriberIndex> {
    let users: BTreeSet<UserId> = owners.iter().map(|(user, _)| *user).collect();
    let teams: BTreeSet<TeamId> = owners.iter().filter_map(|(_, team)| *team).collect();
    let users: Vec<i64> = users.into_iter().map(UserId::get).collect();
    let teams: Vec<i64> = teams.into_iter().map(TeamId::get).collect();
    let of_users: Vec<Option<i64>> = on_backend!(db, conn => webhooks::table
        .filter(webhooks::status.eq(ACTIVE))
        .filter(webhooks::user_id.eq_any(&users))
        .select(webhooks::user_id)
        .load(conn))?;
    // Without teams there is nothing to find, and the database would scan all webhooks for it.
    let of_teams: Vec<Option<i64>> = if teams.is_empty() {
        Vec::new()
    } else {
        on_backend!(db, conn => webhooks::table
            .filter(webhooks::status.eq(ACTIVE))
            .filter(webhooks::team_id.eq_any(&teams))
            .select(webhooks::team_id)
            .load(conn))?
    };
    Ok(SubscriberIndex {
        users: of_users.into_iter().flatten().collect(),
        teams: of_teams.into_iter().flatten().collect(),
    })
}

/// Returns the webhooks that receive a user's sessions on a project of that team.
pub(super) fn subscribers(
    db: &mut Db,
    (user, team): (UserId, Option<TeamId>),
) -> QueryResult<Vec<WebhookSubscriber>> {
    statement::<(BigInt, BigInt, Text)>(
        "SELECT id, revision, events FROM webhooks WHERE status = 'active' AND user_id = $1 \
         UNION ALL SELECT id, revision, events FROM webhooks WHERE status = 'active' AND team_id = $2",
    )
    .bind::<BigInt, _>(user)
    .bind::<Nullable<BigInt>, _>(team)
    .load(db)
}
