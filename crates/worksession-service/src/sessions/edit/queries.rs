use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use super::wire::SessionEdit;
use crate::sessions::record::{RecordRow, RecordSql};

/// Updates a submitted session of the user; none if there is no such session. Absent fields keep the row's value of
/// that moment, not an earlier read: concurrent edits of different fields all take effect.
pub(super) fn update(
    db: &mut Db,
    user: UserId,
    session_id: String,
    edit: SessionEdit,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<RecordRow>> {
    statement::<RecordSql>(include_str!("edit.sql"))
        .bind::<Nullable<Text>, _>(edit.note)
        .bind::<Nullable<Text>, _>(edit.tags)
        .bind::<Bool, _>(edit.quality_rating.is_some())
        .bind::<Nullable<Integer>, _>(edit.quality_rating.flatten())
        .bind::<BigInt, _>(seq)
        .bind::<Timestamp, _>(now)
        .bind::<Text, _>(session_id)
        .bind::<BigInt, _>(user)
        .get_result(db)
        .optional()
}
