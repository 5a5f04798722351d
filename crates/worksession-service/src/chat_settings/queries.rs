use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;
use event_types::ChatTested;
use uuid::Uuid;

use super::model::{ChatRow, TEST_PENDING};
use super::settings::ChatSettings;
use crate::columns::columns;
use crate::integrations::{ACTIVE, DISABLED, IntegrationCreator, PAUSED};
use crate::projects::TeamProjectId;
use crate::schema::{chat_integrations as chat, team_projects};

/// Finds the project's chat; none if there has never been one.
pub(super) fn find(db: &mut Db, project: TeamProjectId) -> QueryResult<Option<ChatRow>> {
    chat::table
        .filter(chat::team_project_id.eq(project))
        .select(columns::<ChatRow>())
        .first(db)
        .optional()
}

/// Locks the project until the transaction ends, so that concurrent changes of its chat run one after the other.
pub(super) fn lock_project(db: &mut Db, project: TeamProjectId) -> QueryResult<()> {
    let row = team_projects::table.find(project);
    if let Db::Pg(conn) = db {
        let row = row.select(team_projects::id).for_no_key_update();
        row.first::<TeamProjectId>(conn)?;
    }
    Ok(())
}

/// Stores the encrypted address of the chat's newest revision.
pub(super) fn update_sealed(
    db: &mut Db,
    project: TeamProjectId,
    sealed: Option<&str>,
) -> QueryResult<()> {
    diesel::update(chat::table.filter(chat::team_project_id.eq(project)))
        .set(chat::sealed.eq(sealed))
        .execute(db)
        .map(drop)
}

/// Activates a paused chat as `creator`'s. Returns the new revision, and the address encrypted for the previous revision.
pub(super) fn adopt(
    db: &mut Db,
    project: TeamProjectId,
    creator: &IntegrationCreator,
    now: NaiveDateTime,
) -> QueryResult<Option<(i64, Option<String>)>> {
    let paused = chat::table
        .filter(chat::team_project_id.eq(project))
        .filter(chat::status.eq(PAUSED));
    diesel::update(paused)
        .set((
            chat::status.eq(ACTIVE),
            chat::reason.eq(None::<String>),
            chat::revision.eq(chat::revision + 1),
            chat::updated_at.eq(now),
            chat::created_by.eq(creator.created_by),
            chat::client_id.eq(&creator.client_id),
            chat::session_id.eq(&creator.session_id),
        ))
        .returning((chat::revision, chat::sealed))
        .get_result(db)
        .optional()
}

/// Sets the chat, or removes it without `settings`, and returns the new revision. The row outlives the chat, so that
/// revisions only increase.
pub(super) fn upsert(
    db: &mut Db,
    project: TeamProjectId,
    settings: Option<&ChatSettings>,
    creator: &IntegrationCreator,
    now: NaiveDateTime,
) -> QueryResult<i64> {
    let provider = settings.map(|settings| settings.destination.provider.name());
    let announce = settings.map(|settings| settings.announce.join(","));
    let row = (
        chat::team_project_id.eq(project),
        chat::provider.eq(provider),
        chat::revision.eq(1),
        chat::status.eq(if provider.is_some() { ACTIVE } else { DISABLED }),
        chat::reason.eq(None::<String>),
        chat::updated_at.eq(now),
        chat::announce.eq(announce.unwrap_or_default()),
        chat::created_by.eq(creator.created_by),
        chat::client_id.eq(&creator.client_id),
        chat::session_id.eq(&creator.session_id),
    );
    on_backend!(db, conn => diesel::insert_into(chat::table)
        .values(row)
        .on_conflict(chat::team_project_id)
        .do_update()
        .set((
            chat::provider.eq(excluded(chat::provider)),
            chat::revision.eq(chat::revision + 1),
            chat::status.eq(excluded(chat::status)),
            chat::reason.eq(excluded(chat::reason)),
            chat::updated_at.eq(excluded(chat::updated_at)),
            chat::announce.eq(excluded(chat::announce)),
            chat::created_by.eq(excluded(chat::created_by)),
            chat::client_id.eq(excluded(chat::client_id)),
            chat::session_id.eq(excluded(chat::session_id)),
            // The last test was of the previous chat.
            chat::test_id.eq(excluded(chat::test_id)),
            chat::test_outcome.eq(excluded(chat::test_outcome)),
            chat::test_reason.eq(excluded(chat::test_reason)),
            chat::test_at.eq(excluded(chat::test_at)),
        ))
        .returning(chat::revision)
        .get_result(conn))
}

/// Lists up to `limit` projects of the team that have a chat, whatever its status.
pub(super) fn list(db: &mut Db, team: TeamId, limit: i64) -> QueryResult<Vec<TeamProjectId>> {
    chat::table
        .inner_join(team_projects::table)
        .filter(
            team_projects::team_id
                .eq(team)
                .and(chat::provider.is_not_null()),
        )
        .order(chat::team_project_id)
        .limit(limit)
        .select(chat::team_project_id)
        .load(db)
}

/// Disables a chat, unless there is a newer revision, and returns its provider.
pub(super) fn disable(
    db: &mut Db,
    project: TeamProjectId,
    revision: i64,
    reason: &str,
    now: NaiveDateTime,
) -> QueryResult<Option<String>> {
    let current = chat::table
        .filter(chat::team_project_id.eq(project))
        .filter(chat::revision.eq(revision))
        .filter(chat::status.eq(ACTIVE));
    let provider: Option<Option<String>> = diesel::update(current)
        .set((
            chat::status.eq(DISABLED),
            chat::sealed.eq(None::<String>),
            chat::reason.eq(reason),
            chat::updated_at.eq(now),
        ))
        .returning(chat::provider)
        .get_result(db)
        .optional()?;
    Ok(provider.flatten())
}

/// Records the start of a test, and returns the revision of the tested chat; none without an active chat.
pub(super) fn record_test_start(
    db: &mut Db,
    project: TeamProjectId,
    test: Uuid,
    now: NaiveDateTime,
) -> QueryResult<Option<i64>> {
    let active = chat::table
        .filter(chat::team_project_id.eq(project))
        .filter(chat::provider.is_not_null())
        .filter(chat::status.eq(ACTIVE));
    diesel::update(active)
        .set((
            chat::test_id.eq(test.to_string()),
            chat::test_outcome.eq(TEST_PENDING),
            chat::test_reason.eq(None::<String>),
            chat::test_at.eq(now),
        ))
        .returning(chat::revision)
        .get_result(db)
        .optional()
}

/// Records the outcome of a test, unless a later one has started.
pub(crate) fn record_test_outcome(db: &mut Db, tested: &ChatTested) -> QueryResult<usize> {
    let current = chat::table
        .filter(chat::team_project_id.eq(tested.project_id))
        .filter(chat::test_id.eq(tested.test_id.to_string()));
    diesel::update(current)
        .set((
            chat::test_outcome.eq(&tested.outcome),
            chat::test_reason.eq(&tested.reason),
            chat::test_at.eq(tested.at.naive_utc()),
        ))
        .execute(db)
}
