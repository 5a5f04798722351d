use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;

use super::model::{ACTIVE, ChatRow, OFF};
use crate::projects::TeamProjectId;
use crate::schema::{chat_integrations as chat, team_projects};

/// The project's setting; none when there never was one.
pub(super) fn find(db: &mut Db, project: TeamProjectId) -> QueryResult<Option<ChatRow>> {
    chat::table
        .filter(chat::team_project_id.eq(project))
        .select((chat::provider, chat::revision, chat::status, chat::reason))
        .first(db)
        .optional()
}

/// Sets or (without a provider) takes away the destination, and returns its new revision. The row stays
/// when a destination goes, so that revisions only ever count up.
pub(super) fn put(
    db: &mut Db,
    project: TeamProjectId,
    provider: Option<&str>,
    now: NaiveDateTime,
) -> QueryResult<i64> {
    let row = (
        chat::team_project_id.eq(project),
        chat::provider.eq(provider),
        chat::revision.eq(1),
        chat::status.eq(if provider.is_some() { ACTIVE } else { OFF }),
        chat::reason.eq(None::<String>),
        chat::updated_at.eq(now),
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
        ))
        .returning(chat::revision)
        .get_result(conn))
}

/// Up to `limit` projects of the team that have a destination, in use or not.
pub(super) fn of_team(db: &mut Db, team: TeamId, limit: i64) -> QueryResult<Vec<TeamProjectId>> {
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

/// Switches a destination off, unless a newer one has taken its place.
pub(crate) fn switch_off(
    db: &mut Db,
    project: TeamProjectId,
    revision: i64,
    reason: &str,
    now: NaiveDateTime,
) -> QueryResult<usize> {
    diesel::update(
        chat::table.filter(
            chat::team_project_id
                .eq(project)
                .and(chat::revision.eq(revision)),
        ),
    )
    .set((
        chat::status.eq(OFF),
        chat::reason.eq(reason),
        chat::updated_at.eq(now),
    ))
    .execute(db)
}
