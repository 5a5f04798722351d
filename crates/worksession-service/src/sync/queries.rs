use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

use super::cursor::Cursor;
use crate::preferences::{SettingsRow, SettingsSql, settings_columns};
use crate::projects::{ProjectRow, ProjectSql, project_columns};
use crate::sessions::record::{RecordRow, RecordSql, record_columns};
use db_kit::statement::{Statement, arguments};

arguments! {
    struct BumpArguments {
        user_id: i64 as BigInt,
    }
}

/// The number of the change that this transaction makes; nobody else changes what is the user's until it ends. Call
/// it before anything else is locked.
pub(crate) fn bump(db: &mut Db, user: UserId) -> QueryResult<i64> {
    const TEXT: &str = "INSERT INTO user_sync AS u (user_id, seq) SELECT p_user_id, 1 FROM a WHERE true \
        ON CONFLICT (user_id) DO UPDATE SET seq = u.seq + 1 RETURNING seq";
    let arguments = BumpArguments {
        user_id: user.get(),
    };
    Statement::<_, BigInt>::new(|| TEXT, &arguments).get_result(db)
}

/// Of the users in `a` those whom nobody else holds now; on PostgreSQL. One without a number is none of them: somebody may be
/// about to give the first, which is not seen yet and would be waited for. What is looked for comes as an array: as a join
/// PostgreSQL would read the whole table while it takes that for small.
macro_rules! free {
    () => {
        ", free AS (SELECT user_id FROM user_sync WHERE user_id = ANY (ARRAY(SELECT p_user_id FROM a)) FOR UPDATE SKIP LOCKED)"
    };
}
pub(crate) use free;

arguments! {
    struct SinceArguments {
        user_id: i64 as BigInt,
        since: i64 as BigInt,
    }
}

/// The changes in one answer at most.
pub(super) const CHANGES: usize = 200;

/// A row of [`since`]; the parts are there as `kind` says.
#[derive(Debug, Queryable)]
pub(super) struct NewsRow {
    /// The number of the user's last change, the same in each row.
    pub(super) counted: i64,
    /// The number up to which was looked, the same in each row; none when there is nothing to tell.
    pub(super) looked: Option<i64>,
    /// `session`, `project`, `preferences`, or `running` for the session that runs; none when there is nothing to tell.
    pub(super) kind: Option<String>,
    pub(super) seq: Option<i64>,
    pub(super) changed_at: Option<NaiveDateTime>,
    pub(super) session: Option<RecordRow>,
    pub(super) project: Option<ProjectRow>,
    pub(super) settings: Option<SettingsRow>,
}

/// What changed after `since`, up to [`CHANGES`] and one more in the order of their numbers, then the session that
/// runs, and in each row the counter.
///
/// It is one statement, because on PostgreSQL each statement of a transaction has a snapshot of its own. In one
/// snapshot nothing can be missed: a number is taken under the lock of the counter's row, which the change holds until
/// it is committed with what it wrote, so that a snapshot with the counter at n has every change up to n, and every
/// later one gets a higher number. So the counter is as far as the answer goes, or its last change if there are more.
/// A `since` beyond the counter comes from a database that was restored since: then everything is told again.
pub(super) fn since(db: &mut Db, user: UserId, since: Cursor) -> QueryResult<Vec<NewsRow>> {
    // A thousand numbers from the first new one on: however many sessions the user has, and whatever PostgreSQL takes
    // their number for, no more rows are read. Most numbers are of earlier states and have none any more.
    macro_rules! new {
        ($table:literal) => {
            concat!(
                " FROM ",
                $table,
                " WHERE user_id = (SELECT p_user_id FROM a) AND seq > (SELECT bound_seq FROM bound)"
            )
        };
    }
    macro_rules! near {
        ($table:literal) => {
            concat!(new!($table), " AND seq <= (SELECT looked FROM reach)")
        };
    }
    const TEXT: &str = concat!(
        ", counter AS (SELECT COALESCE((SELECT seq FROM user_sync WHERE user_id = (SELECT p_user_id FROM a)), 0) AS counted), \
         bound AS (SELECT CASE WHEN p_since > counted THEN -1 ELSE p_since END AS bound_seq FROM a CROSS JOIN counter), \
         reach AS (SELECT min(number) + 999 AS looked FROM (SELECT min(seq) AS number",
        new!("sessions"),
        " UNION ALL SELECT min(seq)",
        new!("projects"),
        " UNION ALL SELECT min(seq)",
        new!("user_settings"),
        ") AS firsts), \
         changed AS (SELECT 'session' AS kind, session_id AS at_session, CAST(NULL AS BIGINT) AS at_project, seq AS number",
        near!("sessions"),
        " UNION ALL SELECT 'project', NULL, id, seq",
        near!("projects"),
        " UNION ALL SELECT 'preferences', NULL, NULL, seq",
        near!("user_settings"),
        " ORDER BY number LIMIT 201), \
         news AS (SELECT * FROM changed UNION ALL SELECT 'running', session_id, NULL, NULL \
          FROM sessions WHERE user_id = (SELECT p_user_id FROM a) AND status = 'running') \
         SELECT counted, looked, kind, number, COALESCE(changed_at, projects.updated_at, user_settings.updated_at), ",
        record_columns!(),
        ", ",
        project_columns!(),
        ", ",
        settings_columns!(),
        " FROM counter CROSS JOIN reach LEFT JOIN news ON true LEFT JOIN sessions ON session_id = at_session \
          LEFT JOIN projects ON id = at_project \
          LEFT JOIN user_settings ON kind = 'preferences' AND user_settings.user_id = (SELECT p_user_id FROM a) \
         ORDER BY number IS NULL, number"
    );
    type Row = (
        BigInt,
        Nullable<BigInt>,
        Nullable<Text>,
        Nullable<BigInt>,
        Nullable<Timestamp>,
        Nullable<RecordSql>,
        Nullable<ProjectSql>,
        Nullable<SettingsSql>,
    );
    let arguments = SinceArguments {
        user_id: user.get(),
        since: since.seq(),
    };
    Statement::<_, Row>::new(|| TEXT, &arguments).load(db)
}
