use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use super::wire::Edit;
use crate::sessions::record::{RecordRow, RecordSql};

/// Changes a submitted session of the user's; none when there is none. Fields that the changes leave out keep what
/// the row holds then, not what somebody read before: edits of different fields at once are all kept.
pub(super) fn update(
    db: &mut Db,
    user: UserId,
    session_id: String,
    edit: Edit,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<Option<RecordRow>> {
    let change = diesel::sql_query(include_str!("edit.sql"))
        .bind::<Nullable<Text>, _>(edit.note)
        .bind::<Nullable<Text>, _>(edit.tags)
        .bind::<Bool, _>(edit.quality_rating.is_some())
        .bind::<Nullable<Integer>, _>(edit.quality_rating.flatten())
        .bind::<BigInt, _>(seq)
        .bind::<Timestamp, _>(now)
        .bind::<Text, _>(session_id)
        .bind::<BigInt, _>(user);
    cached::<RecordSql, _>(change).get_result(db).optional()
}
