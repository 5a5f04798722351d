use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamp};

use crate::pagination::SessionCursor;
use crate::sessions::record::{RecordRow, RecordSql};

/// Sessions per page. The statement has the number as a literal for PostgreSQL's planner.
pub(super) const PAGE: usize = 200;

/// Returns the user's next sessions after that position that started before `until`, oldest first.
pub(super) fn list_page(
    db: &mut Db,
    user: UserId,
    after: SessionCursor,
    until: NaiveDateTime,
) -> QueryResult<Vec<RecordRow>> {
    let list = statement::<RecordSql>(include_str!("page.sql"))
        .bind::<BigInt, _>(user)
        .bind::<Timestamp, _>(after.started_at)
        .bind::<Text, _>(after.session_id)
        .bind::<Timestamp, _>(until);
    list.load(db)
}
