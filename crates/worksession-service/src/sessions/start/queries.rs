use std::collections::HashMap;

use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};
use diesel::sqlite::SqliteConnection;

use crate::sessions::model::{SessionRow, SessionSql, session_columns};
use crate::sync;
use db_kit::statement::{Statement, arguments};

arguments! {
    many NewSessions,
    /// A session to be opened, the times that decide whether it was opened before, and its event.
    pub(crate) struct NewSession {
        session_id: String as Text,
        user_id: i64 as BigInt,
        username: String as Text,
        client: String as Text,
        category: String as Text,
        planned_duration: i32 as Integer,
        planning_note: String as Text,
        project_id: String as Text,
        project_name: String as Text,
        team_id: Option<i64> as Nullable<BigInt>,
        team_name: Option<String> as Nullable<Text>,
        chat: Option<String> as Nullable<Text>,
        started_at: NaiveDateTime as Timestamp,
        expected_end_at: NaiveDateTime as Timestamp,
        start_digest: String as Text,
        idempotency_key: Option<String> as Nullable<Text>,
        /// A running session with the same plan that started later than this is the same start.
        repeated_after: NaiveDateTime as Timestamp,
        /// A key counts for sessions that started later than this.
        key_after: NaiveDateTime as Timestamp,
        /// Sessions whose planned end is later than this are open.
        open_after: NaiveDateTime as Timestamp,
        event_id: String as Text,
        event_exchange: String as Text,
        event_type: String as Text,
        event_body: String as Text,
        /// Whether it waits while somebody else holds what is the user's.
        patient: bool as Bool,
    }
}

arguments! {
    /// What an earlier start is known by: see [`NewSession`].
    pub(super) struct Repeated {
        user_id: i64 as BigInt,
        start_digest: String as Text,
        idempotency_key: Option<String> as Nullable<Text>,
        repeated_after: NaiveDateTime as Timestamp,
        key_after: NaiveDateTime as Timestamp,
        open_after: NaiveDateTime as Timestamp,
    }
}

/// A session that a start led to.
#[derive(Debug, Clone, Queryable)]
pub(crate) struct Opened {
    pub(in crate::sessions) row: SessionRow,
    /// False when an earlier request had opened it.
    pub(in crate::sessions) fresh: bool,
}

/// Sessions of an earlier start that one repeats, out of `$sessions_of_user`. The key speaks before the plan does; one that
/// came with another plan is given too, and the caller refuses it. The user is asked for as a value of its own,
/// not as a join: PostgreSQL then never walks through the running sessions of everybody, which it takes for
/// few while its statistics are young.
macro_rules! same {
    ($sessions_of_user:literal) => {
        concat!(
            "SELECT 1 AS rank, ",
            session_columns!(),
            $sessions_of_user,
            " AND idempotency_key = p_idempotency_key AND started_at > p_key_after AND (start_digest <> p_start_digest \
              OR (status IN ('running', 'awaiting_submit') AND expected_end_at > p_open_after)) \
             UNION ALL SELECT 2, ",
            session_columns!(),
            $sessions_of_user,
            " AND status = 'running' AND start_digest = p_start_digest AND started_at > p_repeated_after"
        )
    };
}

/// The session of an earlier start that this one repeats, out of [`same!`].
macro_rules! earlier {
    () => {
        concat!(
            ", same AS (",
            same!(" FROM a JOIN sessions ON user_id = (SELECT p_user_id FROM a) WHERE true"),
            "), earlier AS (SELECT ",
            session_columns!(),
            " FROM same ORDER BY rank, started_at DESC LIMIT 1) "
        )
    };
}

/// The session that ran has the change number before that of the new one: `$seq` less one.
macro_rules! close_running {
    ($seq:literal, $from:literal) => {
        concat!(
            "UPDATE sessions SET status = 'awaiting_submit', ended_at = p_started_at, changed_at = p_started_at, seq = ",
            $seq,
            " - 1 ",
            $from,
            " AND status = 'running'"
        )
    };
}

/// Two numbers at once, for the session that ends and the one that starts.
macro_rules! bump {
    ($of:literal) => {
        concat!(
            "INSERT INTO user_sync AS u (user_id, seq) SELECT p_user_id, 2 FROM a WHERE ",
            $of,
            " ON CONFLICT (user_id) DO UPDATE SET seq = u.seq + 2"
        )
    };
}

macro_rules! insert_session {
    ($seq:literal, $from:literal) => {
        concat!("INSERT INTO sessions (session_id, user_id, username, client, category, planned_duration, planning_note, \
          project_id, project_name, team_id, team_name, chat, status, started_at, expected_end_at, zone, \
          start_digest, idempotency_key, changed_at, seq) \
         SELECT p_session_id, p_user_id, p_username, p_client, p_category, p_planned_duration, p_planning_note, \
          p_project_id, p_project_name, p_team_id, p_team_name, p_chat, 'running', p_started_at, p_expected_end_at, \
          COALESCE((SELECT timezone FROM user_settings WHERE user_id = p_user_id), 'UTC'), \
          p_start_digest, p_idempotency_key, p_started_at, ", $seq, " ", $from, " RETURNING ", session_columns!())
    };
}

macro_rules! queue_event {
    ($from:literal) => {
        concat!(
            "INSERT INTO outbox (id, exchange, routing_key, body, created_at, state) \
             SELECT p_event_id, p_event_exchange, p_event_type, p_event_body, p_started_at, 'pending' ",
            $from
        )
    };
}

/// Everything at once, for several users. The change number comes before the rows that carry it, and with it the lock of all
/// that is the user's; numbers are taken in one order by all. Of a user whose lock somebody holds nothing is opened unless
/// that is to be waited for, so that the others do not wait with them. The INSERT asks the closing UPDATE for its count, so
/// that the running row is gone from the unique index before the new one enters it.
const OPEN_PG: &str = concat!(
    sync::free!(),
    ", earlier AS (SELECT found.* FROM a CROSS JOIN LATERAL (SELECT ",
    session_columns!(),
    " FROM (",
    same!(" FROM sessions WHERE user_id = p_user_id"),
    ") AS same ORDER BY rank, started_at DESC LIMIT 1) AS found), \
     bump AS (",
    bump!(
        "p_user_id NOT IN (SELECT user_id FROM earlier) AND (p_patient OR p_user_id IN (SELECT user_id FROM free)) ORDER BY p_user_id"
    ),
    " RETURNING user_id, seq), closed AS (",
    close_running!(
        "bump.seq",
        "FROM a JOIN bump ON bump.user_id = p_user_id \
         WHERE sessions.user_id = p_user_id AND sessions.user_id = ANY (ARRAY(SELECT user_id FROM bump))"
    ),
    " RETURNING session_id), opened AS (",
    insert_session!(
        "bump.seq",
        "FROM a JOIN bump ON bump.user_id = p_user_id WHERE (SELECT count(*) FROM closed) >= 0"
    ),
    "), queued AS (",
    queue_event!("FROM a JOIN opened ON session_id = p_session_id"),
    ") SELECT ",
    session_columns!(),
    ", false FROM earlier UNION ALL SELECT ",
    session_columns!(),
    ", true FROM opened"
);

const EARLIER: &str = concat!(earlier!(), "SELECT ", session_columns!(), " FROM earlier");
const BUMP: &str = bump!("true");
const CLOSE_RUNNING: &str = close_running!(
    "(SELECT u.seq FROM user_sync u WHERE u.user_id = p_user_id)",
    "FROM a WHERE user_id = (SELECT p_user_id FROM a)"
);
const INSERT_SESSION: &str = insert_session!(
    "(SELECT u.seq FROM user_sync u WHERE u.user_id = p_user_id)",
    "FROM a"
);
const QUEUE_EVENT: &str = queue_event!("FROM a");

/// The session of an earlier start that this one repeats.
pub(super) fn earlier(db: &mut Db, repeated: &Repeated) -> QueryResult<Option<SessionRow>> {
    Statement::<_, SessionSql>::new(|| EARLIER, repeated)
        .get_result(db)
        .optional()
}

/// Opens the sessions of different users, unless earlier starts opened them, and ends those that run; SQLite one of them,
/// inside of a transaction. None for a user whom another transaction holds, or who has no number yet, unless the session is
/// patient. A unique violation on `sessions (user_id)` means that another start of the user came first: do it again.
pub(super) fn open(db: &mut Db, new: &[NewSession]) -> QueryResult<Vec<Option<Opened>>> {
    match db {
        Db::Pg(conn) => {
            let rows = NewSessions::of(new);
            let opened: Vec<Opened> =
                Statement::<_, (SessionSql, Bool)>::new(|| OPEN_PG, &rows).load(conn)?;
            let opened = opened
                .into_iter()
                .map(|opened| (opened.row.user_id.get(), opened));
            let mut opened: HashMap<i64, Opened> = opened.collect();
            Ok(new.iter().map(|new| opened.remove(&new.user_id)).collect())
        }
        Db::Sqlite(conn) => new
            .iter()
            .map(|new| open_one(conn, new).map(Some))
            .collect(),
    }
}

/// SQLite knows no data-modifying CTE; the write transaction around these does the same.
fn open_one(conn: &mut SqliteConnection, new: &NewSession) -> QueryResult<Opened> {
    let earlier = Statement::<_, SessionSql>::new(|| EARLIER, new).get_result(conn);
    if let Some(row) = earlier.optional()? {
        return Ok(Opened { row, fresh: false });
    }
    Statement::<_, ()>::new(|| BUMP, new).execute(conn)?;
    Statement::<_, ()>::new(|| CLOSE_RUNNING, new).execute(conn)?;
    Statement::<_, ()>::new(|| QUEUE_EVENT, new).execute(conn)?;
    let row = Statement::<_, SessionSql>::new(|| INSERT_SESSION, new).get_result(conn)?;
    Ok(Opened { row, fresh: true })
}
