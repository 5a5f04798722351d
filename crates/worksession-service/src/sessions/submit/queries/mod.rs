mod facts;
mod settlement;

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, prepared};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamp};
use diesel::sqlite::SqliteConnection;

use facts::near;
pub(super) use facts::{Around, Facts, FactsArguments, facts};
pub(super) use settlement::{Settlement, settle};

use crate::rules::integrity::Work;
use crate::rules::streaks::{DAY_COUNTS_FROM, Day, Mark};
use crate::schema::user_day;
use crate::sessions::model::{SessionRow, SessionSql, Status, session_columns};
use db_kit::statement::{Statement, arguments};

arguments! {
    many ManyCandidates,
    /// Which sessions a submit may be about.
    pub(super) struct Candidates {
        user_id: i64 as BigInt,
        session_id: Option<String> as Nullable<Text>,
        submit_digest: String as Text,
        /// Sessions whose planned end is later than this are open.
        open_after: NaiveDateTime as Timestamp,
        /// The client's start.
        start_time: NaiveDateTime as Timestamp,
        /// The locked fields that were sent.
        category: Option<String> as Nullable<Text>,
        duration: Option<i64> as Nullable<BigInt>,
        project_id: Option<String> as Nullable<Text>,
    }
}

/// The user's time zone as it is now, for the periods in the answer.
macro_rules! zone_now {
    () => {
        ", COALESCE((SELECT timezone FROM user_settings WHERE user_id = p_user_id), 'UTC')"
    };
}

/// Whether a session has the locked fields that were sent.
macro_rules! fits {
    () => {
        "(p_category IS NULL OR category = p_category) AND (p_duration IS NULL OR planned_duration = p_duration) \
         AND (p_project_id IS NULL OR project_id = p_project_id)"
    };
}

/// The user's open sessions, and those that the same submit settled; `$of` says whose.
macro_rules! meant {
    ($of:literal) => {
        concat!(
            "open AS MATERIALIZED (SELECT session_id, started_at, ",
            fits!(),
            " AS fits FROM ",
            $of,
            " AND status IN ('running', 'awaiting_submit') AND expected_end_at > p_open_after), \
             repeated AS MATERIALIZED (SELECT session_id, started_at FROM ",
            $of,
            " AND submit_digest = p_submit_digest AND ",
            fits!(),
            ")"
        )
    };
}

/// Of the sessions in `$from`, those nearest to the client's start, before and after.
macro_rules! nearest {
    ($($from:literal),+) => {
        concat!(
            "SELECT session_id FROM (SELECT session_id FROM ",
            $($from,)+
            " AND started_at <= p_start_time ORDER BY started_at DESC LIMIT 1) AS before \
             UNION SELECT session_id FROM (SELECT session_id FROM ",
            $($from,)+
            " AND started_at > p_start_time ORDER BY started_at LIMIT 1) AS after"
        )
    };
}

/// The few of [`meant!`] that can be meant, however many there are: the nearest of the open ones, of those of them that fit,
/// and of the others.
macro_rules! chosen {
    ($open:literal, $repeated:literal) => {
        concat!(
            nearest!($open, " fits"),
            " UNION ",
            nearest!($open, " true"),
            " UNION ",
            nearest!($repeated, " true")
        )
    };
}

/// A session that a submit may be about, and its user's zone.
pub(super) type Candidate = (SessionRow, String);

/// For each submit the named session; or, however many there are, the few that can be meant.
pub(super) fn candidates(db: &mut Db, of: &[Candidates]) -> QueryResult<Vec<Vec<Candidate>>> {
    match db {
        Db::Pg(conn) => candidates_of_many(conn, of),
        Db::Sqlite(conn) => of.iter().map(|of| candidates_of(conn, of)).collect(),
    }
}

fn candidates_of_many(
    conn: &mut PgConnection,
    of: &[Candidates],
) -> QueryResult<Vec<Vec<Candidate>>> {
    const MANY: &str = concat!(
        "SELECT ",
        session_columns!(),
        zone_now!(),
        ", nth FROM a CROSS JOIN LATERAL (WITH ",
        meant!("sessions WHERE p_session_id IS NULL AND user_id = p_user_id"),
        " SELECT p_session_id AS chosen WHERE p_session_id IS NOT NULL UNION ALL (",
        chosen!("open WHERE", "repeated WHERE"),
        ")) AS meant CROSS JOIN LATERAL \
          (SELECT * FROM sessions WHERE session_id = chosen AND user_id = p_user_id OFFSET 0) AS s"
    );
    let mut found: Vec<_> = of.iter().map(|_| Vec::new()).collect();
    let of = ManyCandidates::of(of);
    let rows: Vec<(SessionRow, String, i64)> =
        Statement::<_, (SessionSql, Text, BigInt)>::new(|| MANY, &of).load(conn)?;
    for (row, zone, nth) in rows {
        let at = usize::try_from(nth - 1).ok();
        if let Some(found) = at.and_then(|at| found.get_mut(at)) {
            found.push((row, zone));
        }
    }
    Ok(found)
}

fn candidates_of(conn: &mut SqliteConnection, of: &Candidates) -> QueryResult<Vec<Candidate>> {
    const NAMED: &str = concat!(
        "SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON session_id = p_session_id AND user_id = p_user_id"
    );
    const UNNAMED: &str = concat!(
        ", ",
        meant!("a JOIN sessions ON user_id = (SELECT p_user_id FROM a)"),
        ", chosen AS (",
        chosen!("a JOIN open ON", "a JOIN repeated ON"),
        ") SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON session_id IN (SELECT session_id FROM chosen)"
    );
    let text = match of.session_id {
        Some(_) => NAMED,
        None => match only_open(conn, of)? {
            Some(only) => return Ok(vec![only]),
            None => UNNAMED,
        },
    };
    Statement::<_, (SessionSql, Text)>::new(text, of).load(conn)
}

/// The user's open session where there is one only, and none that the same submit settled: whatever else the submit says, no
/// other is meant. That is how most submits come, and [`chosen!`] makes a table of its own for each of its parts.
fn only_open(conn: &mut SqliteConnection, of: &Candidates) -> QueryResult<Option<Candidate>> {
    const OPEN: &str = concat!(
        "SELECT ",
        session_columns!(),
        ", COALESCE((SELECT timezone FROM user_settings WHERE user_settings.user_id = sessions.user_id), 'UTC'), \
         EXISTS (SELECT 1 FROM sessions AS settled WHERE settled.user_id = sessions.user_id AND settled.submit_digest = "
    );
    let open = prepared::<(SessionSql, Text, Bool)>(OPEN)
        .bind::<Text, _>(&of.submit_digest)
        .sql(") FROM sessions WHERE user_id = ")
        .bind::<BigInt, _>(of.user_id)
        .sql(" AND status IN ('running', 'awaiting_submit') AND expected_end_at > ")
        .bind::<Timestamp, _>(of.open_after)
        .sql(" LIMIT 2")
        .load::<(SessionRow, String, bool)>(conn)?;
    Ok(match <[_; 1]>::try_from(open) {
        Ok([(row, zone, false)]) => Some((row, zone)),
        _ => None,
    })
}

/// All counted days of the user in order; read only when a submit comes out of order.
pub(super) fn counted_days(db: &mut Db, user: UserId) -> QueryResult<Vec<Day>> {
    type Row = (NaiveDate, NaiveDateTime, i32, NaiveDateTime, i32);
    let rows = user_day::table
        .filter(
            user_day::user_id
                .eq(user)
                .and(user_day::minutes.ge(DAY_COUNTS_FROM)),
        )
        .order(user_day::day)
        .select((
            user_day::day,
            user_day::first_start,
            user_day::first_offset,
            user_day::last_start,
            user_day::last_offset,
        ))
        .load::<Row>(db)?;
    let day = |(date, first, first_offset, last, last_offset): Row| Day {
        date,
        first: Mark {
            at: first,
            offset: first_offset,
        },
        last: Mark {
            at: last,
            offset: last_offset,
        },
    };
    Ok(rows.into_iter().map(day).collect())
}

/// The credited time of other sessions that may lie in 24 hours together with one that started at `started_at`.
pub(super) fn work_near(
    db: &mut Db,
    user: UserId,
    started_at: NaiveDateTime,
) -> QueryResult<Vec<Work>> {
    use crate::schema::sessions::dsl;
    let (from, to) = near(started_at);
    let rows = dsl::sessions
        .filter(
            dsl::user_id
                .eq(user)
                .and(dsl::started_at.gt(from))
                .and(dsl::started_at.lt(to))
                .and(dsl::credited_minutes.gt(0)),
        )
        .select((dsl::started_at, dsl::credited_minutes))
        .load::<(NaiveDateTime, i32)>(db)?;
    Ok(rows
        .into_iter()
        .map(|(started_at, minutes)| Work::new(started_at, minutes))
        .collect())
}

/// A submit that came too late for credit.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = crate::schema::sessions)]
pub(super) struct LateSubmit {
    pub(super) status: &'static str,
    pub(super) ended_at: NaiveDateTime,
    pub(super) submitted_at: NaiveDateTime,
    pub(super) start_time: NaiveDateTime,
    pub(super) end_time: NaiveDateTime,
    pub(super) note: String,
    pub(super) quality_rating: Option<i32>,
    pub(super) tags: String,
    pub(super) submit_digest: String,
    pub(super) submit_result: String,
    pub(super) changed_at: NaiveDateTime,
    pub(super) seq: i64,
}

/// Keeps a late submit, once; false when another one came first.
pub(super) fn settle_late(
    db: &mut Db,
    session_id: &str,
    seen: Status,
    late: &LateSubmit,
) -> QueryResult<bool> {
    use crate::schema::sessions::dsl;
    let unsettled = dsl::sessions.filter(
        dsl::session_id
            .eq(session_id)
            .and(dsl::status.eq(seen.as_str()))
            .and(dsl::submitted_at.is_null()),
    );
    diesel::update(unsettled)
        .set(late)
        .execute(db)
        .map(|rows| rows == 1)
}
