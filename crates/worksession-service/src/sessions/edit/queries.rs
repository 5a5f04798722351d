use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, cached};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use crate::sessions::record::{RecordRow, RecordSql};

/// What an edit writes; none stays as it is.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) note: Option<String>,
    /// Some of none takes it away.
    pub(super) quality_rating: Option<Option<i32>>,
    /// JSON.
    pub(super) tags: Option<String>,
    /// The user's change.
    pub(super) seq: i64,
    pub(super) now: NaiveDateTime,
}

/// Changes a submitted session of the user's; none when there is none. Fields that the changes leave out keep what
/// the row holds then, not what somebody read before: edits of different fields at once are all kept.
pub(super) fn update(
    db: &mut Db,
    user: UserId,
    session_id: String,
    changes: Changes,
) -> QueryResult<Option<RecordRow>> {
    let edit = diesel::sql_query(include_str!("edit.sql"))
        .bind::<Nullable<Text>, _>(changes.note)
        .bind::<Nullable<Text>, _>(changes.tags)
        .bind::<Bool, _>(changes.quality_rating.is_some())
        .bind::<Nullable<Integer>, _>(changes.quality_rating.flatten())
        .bind::<BigInt, _>(changes.seq)
        .bind::<Timestamp, _>(changes.now)
        .bind::<Text, _>(session_id)
        .bind::<BigInt, _>(user);
    cached::<RecordSql, _>(edit).get_result(db).optional()
}
