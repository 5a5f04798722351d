mod facts;
mod settlement;

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime};
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text, Timestamp};

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

/// Of the sessions in `$from`, those nearest to the client's start, before and after.
macro_rules! nearest {
    ($from:literal) => {
        concat!(
            "SELECT session_id FROM (SELECT session_id FROM a JOIN ",
            $from,
            " AND started_at <= p_start_time ORDER BY started_at DESC LIMIT 1) AS before \
             UNION SELECT session_id FROM (SELECT session_id FROM a JOIN ",
            $from,
            " AND started_at > p_start_time ORDER BY started_at LIMIT 1) AS after"
        )
    };
}

/// A session that a submit may be about, and its user's zone.
pub(super) type Candidate = (SessionRow, String);

macro_rules! named {
    ($columns:literal) => {
        concat!(
            "SELECT ",
            session_columns!(),
            zone_now!(),
            $columns,
            " FROM a JOIN sessions ON session_id = p_session_id AND user_id = p_user_id"
        )
    };
}

/// For each submit the named session; or, however many there are, the few that can be meant: the nearest of the open ones,
/// of those of them that fit, and of those that the same submit closed.
pub(super) fn candidates(db: &mut Db, of: &[Candidates]) -> QueryResult<Vec<Vec<Candidate>>> {
    if let Db::Pg(conn) = db
        && of.iter().all(|of| of.session_id.is_some())
    {
        const NAMED: &str = concat!(
            named!(", nth"),
            " AND session_id = ANY (ARRAY(SELECT p_session_id FROM a))"
        );
        let mut found: Vec<_> = of.iter().map(|_| Vec::new()).collect();
        let of = ManyCandidates::of(of);
        let rows: Vec<(SessionRow, String, i64)> =
            Statement::<_, (SessionSql, Text, BigInt)>::new(NAMED, &of).load(conn)?;
        for (row, zone, nth) in rows {
            let at = usize::try_from(nth - 1).ok();
            if let Some(found) = at.and_then(|at| found.get_mut(at)) {
                found.push((row, zone));
            }
        }
        return Ok(found);
    }
    of.iter().map(|of| candidates_of(db, of)).collect()
}

fn candidates_of(db: &mut Db, of: &Candidates) -> QueryResult<Vec<Candidate>> {
    const NAMED: &str = named!("");
    const UNNAMED: &str = concat!(
        ", open AS MATERIALIZED (SELECT session_id, started_at, ",
        fits!(),
        " AS fits FROM a JOIN sessions ON user_id = (SELECT p_user_id FROM a) \
          WHERE status IN ('running', 'awaiting_submit') AND expected_end_at > p_open_after), \
         repeated AS MATERIALIZED (SELECT session_id, started_at FROM a JOIN sessions \
          ON user_id = (SELECT p_user_id FROM a) WHERE submit_digest = p_submit_digest AND ",
        fits!(),
        "), chosen AS (",
        nearest!("open ON fits"),
        " UNION ",
        nearest!("open ON true"),
        " UNION ",
        nearest!("repeated ON true"),
        ") SELECT ",
        session_columns!(),
        zone_now!(),
        " FROM a JOIN sessions ON session_id IN (SELECT session_id FROM chosen)"
    );
    let text = if of.session_id.is_some() {
        NAMED
    } else {
        UNNAMED
    };
    on_backend!(db, conn => Statement::<_, (SessionSql, Text)>::new(text, of).load(conn))
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
