use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::ProjectId;
use super::model::{NewProject, ProjectChanges, ProjectRow};
use crate::columns::columns;
use crate::schema::projects;

/// Lists the user's projects, oldest first, and archived ones only on request.
pub(crate) fn list(db: &mut Db, user: UserId, archived: bool) -> QueryResult<Vec<ProjectRow>> {
    let rows = projects::table
        .filter(projects::user_id.eq(user))
        .order(projects::id)
        .select(columns::<ProjectRow>());
    match archived {
        true => rows.load(db),
        false => rows.filter(projects::archived_at.is_null()).load(db),
    }
}

pub(crate) fn find(db: &mut Db, user: UserId, id: ProjectId) -> QueryResult<Option<ProjectRow>> {
    projects::table
        .filter(projects::id.eq(id).and(projects::user_id.eq(user)))
        .select(columns::<ProjectRow>())
        .first(db)
        .optional()
}

/// Counts the user's projects, including archived ones.
pub(super) fn count(db: &mut Db, user: UserId) -> QueryResult<i64> {
    let rows = projects::table.filter(projects::user_id.eq(user));
    rows.count().get_result(db)
}

pub(super) fn insert(db: &mut Db, new: &NewProject) -> QueryResult<ProjectRow> {
    diesel::insert_into(projects::table)
        .values(new)
        .returning(columns::<ProjectRow>())
        .get_result(db)
}

pub(super) fn update(
    db: &mut Db,
    user: UserId,
    id: ProjectId,
    changes: &ProjectChanges,
) -> QueryResult<Option<ProjectRow>> {
    diesel::update(projects::table.filter(projects::id.eq(id).and(projects::user_id.eq(user))))
        .set(changes)
        .returning(columns::<ProjectRow>())
        .get_result(db)
        .optional()
}

/// Archives the project. One that is already archived keeps its time.
pub(super) fn archive(
    db: &mut Db,
    id: ProjectId,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<usize> {
    diesel::update(projects::table.filter(projects::id.eq(id).and(projects::archived_at.is_null())))
        .set((
            projects::archived_at.eq(now),
            projects::updated_at.eq(now),
            projects::seq.eq(seq),
        ))
        .execute(db)
}
