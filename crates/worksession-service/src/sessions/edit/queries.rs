use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use crate::sessions::record::{RecordRow, RecordSql, record_columns};
use db_kit::statement::{Statement, arguments};

arguments! {
    struct EditArguments {
        user_id: i64 as BigInt,
        session_id: String as Text,
        note: Option<String> as Nullable<Text>,
        /// Whether the rating changes: it may change to none.
        rates: bool as Bool,
        quality_rating: Option<i32> as Nullable<Integer>,
        tags: Option<String> as Nullable<Text>,
        seq: i64 as BigInt,
        now: NaiveDateTime as Timestamp,
    }
}

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
    const TEXT: &str = concat!(
        "UPDATE sessions SET note = COALESCE(p_note, note), tags = COALESCE(p_tags, tags), \
          quality_rating = CASE WHEN p_rates THEN p_quality_rating ELSE quality_rating END, \
          seq = p_seq, changed_at = p_now FROM a \
         WHERE session_id = p_session_id AND user_id = p_user_id AND submitted_at IS NOT NULL RETURNING ",
        record_columns!()
    );
    let arguments = EditArguments {
        user_id: user.get(),
        session_id,
        note: changes.note,
        rates: changes.quality_rating.is_some(),
        quality_rating: changes.quality_rating.flatten(),
        tags: changes.tags,
        seq: changes.seq,
        now: changes.now,
    };
    Statement::<_, RecordSql>::new(|| TEXT, &arguments)
        .get_result(db)
        .optional()
}
