use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Timestamp};

use crate::page::Position;
use crate::sessions::record::{RecordRow, RecordSql, record_columns};
use db_kit::statement::{Statement, arguments};

/// Sessions of one page; written out in the statement too, for PostgreSQL's planner.
pub(super) const PAGE: usize = 200;

arguments! {
    struct PageArguments {
        user_id: i64 as BigInt,
        from: NaiveDateTime as Timestamp,
        from_id: String as Text,
        until: NaiveDateTime as Timestamp,
    }
}

/// The user's next sessions after that place that started before `until`, oldest first.
pub(super) fn page(
    db: &mut Db,
    user: UserId,
    after: Position,
    until: NaiveDateTime,
) -> QueryResult<Vec<RecordRow>> {
    const TEXT: &str = concat!(
        "SELECT ",
        record_columns!(),
        " FROM sessions WHERE user_id = (SELECT p_user_id FROM a) \
          AND started_at >= (SELECT p_from FROM a) AND started_at < (SELECT p_until FROM a) \
          AND (started_at > (SELECT p_from FROM a) OR session_id > (SELECT p_from_id FROM a)) \
         ORDER BY started_at, session_id LIMIT 200"
    );
    let arguments = PageArguments {
        user_id: user.get(),
        from: after.started_at,
        from_id: after.session_id,
        until,
    };
    Statement::<_, RecordSql>::new(|| TEXT, &arguments).load(db)
}
