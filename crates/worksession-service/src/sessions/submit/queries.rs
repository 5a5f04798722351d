use std::collections::{HashMap, HashSet};

use auth_types::UserId;
use chrono::{NaiveDate, NaiveDateTime, TimeDelta};
use db_kit::{Db, bind_named, execute_named, json, outbox, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde::Serialize;

use super::rows::{SubmitAttempt, SubmitContext, SubmitContextSql, SubmitRows};
use crate::rules::credit::{MAX_SESSION, OPEN_AFTER_PLANNED_END};
use crate::rules::integrity::CreditedInterval;
use crate::rules::streaks::{LocalInstant, MIN_COUNTED_MINUTES, StreakDay};
use crate::rules::time::{Periods, iso_week, local_moment, month_of, zone};
use crate::schema::{sessions, user_day};
use crate::sessions::model::{SessionRow, SessionSql};
use crate::sync;

/// A session to submit, its user's zone, and the number of their last change.
pub(super) type LoadedSession = (SessionRow, String, i64);

type LoadedSessionSql = (SessionSql, Text, BigInt);

/// The session that an attempt refers to.
#[derive(Serialize)]
struct SessionArguments<'a> {
    user_id: UserId,
    session_id: Option<&'a str>,
    submit_digest: &'a str,
    /// Sessions whose planned end is after this are open.
    #[serde(serialize_with = "json::timestamp")]
    open_after: NaiveDateTime,
    /// The client's start.
    #[serde(serialize_with = "json::timestamp")]
    start_time: NaiveDateTime,
    /// The locked fields of the request.
    category: Option<&'a str>,
    duration: Option<i64>,
    project_id: Option<String>,
}

impl<'a> SessionArguments<'a> {
    fn new(attempt: &'a SubmitAttempt) -> Self {
        let submission = &attempt.submission;
        Self {
            user_id: attempt.user,
            session_id: submission.session_id.as_deref(),
            submit_digest: &attempt.digest,
            open_after: attempt.now.naive_utc() - OPEN_AFTER_PLANNED_END,
            start_time: submission.start_time,
            category: submission.category.as_deref(),
            duration: submission.duration,
            project_id: submission.project.map(|project| project.to_string()),
        }
    }
}

/// Loads the sessions of the attempts, which are of different users.
pub(super) fn load_sessions(
    db: &mut Db,
    attempts: &[SubmitAttempt],
) -> QueryResult<HashMap<UserId, LoadedSession>> {
    let arguments: Vec<_> = attempts.iter().map(SessionArguments::new).collect();
    let sessions: Vec<LoadedSession> = match db {
        Db::Pg(conn) => statement::<LoadedSessionSql>(include_str!("sessions.postgres.sql"))
            .bind::<Text, _>(json::to_text(&arguments)?)
            .load(conn)?,
        Db::Sqlite(conn) => {
            let find = |arguments: &SessionArguments| {
                let query =
                    bind_named::<LoadedSessionSql>(include_str!("sessions.sqlite.sql"), arguments)?;
                query.get_result(conn).optional()
            };
            let loaded = arguments.iter().map(find);
            loaded
                .filter_map(Result::transpose)
                .collect::<Result<_, _>>()?
        }
    };
    Ok(sessions
        .into_iter()
        .map(|loaded| (loaded.0.user_id, loaded))
        .collect())
}

/// A session, its position in time, and its user's current periods.
#[derive(Serialize)]
struct ContextArguments<'a> {
    user_id: UserId,
    session_id: &'a str,
    today: NaiveDate,
    week_from: NaiveDate,
    week_to: NaiveDate,
    month_from: NaiveDate,
    month_to: NaiveDate,
    day: NaiveDate,
    hour: i32,
    category: &'a str,
    own_month: NaiveDate,
    own_week_from: NaiveDate,
    own_week_to: NaiveDate,
    #[serde(serialize_with = "json::timestamp")]
    started_at: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    near_from: NaiveDateTime,
    #[serde(serialize_with = "json::timestamp")]
    near_to: NaiveDateTime,
}

impl<'a> ContextArguments<'a> {
    fn new((session, zone_now, _): &'a LoadedSession, now: NaiveDateTime) -> Self {
        let periods = Periods::new(local_moment(now, zone(zone_now)).day);
        let moment = local_moment(session.started_at, zone(&session.zone));
        let own_week = iso_week(moment.day);
        let (near_from, near_to) = nearby_range(session.started_at);
        Self {
            user_id: session.user_id,
            session_id: &session.session_id,
            today: periods.today,
            week_from: periods.week.0,
            week_to: periods.week.1,
            month_from: periods.month.0,
            month_to: periods.month.1,
            day: moment.day,
            hour: moment.hour,
            category: &session.category,
            own_month: month_of(moment.day),
            own_week_from: own_week.0,
            own_week_to: own_week.1,
            started_at: session.started_at,
            near_from,
            near_to,
        }
    }
}

/// Returns between which starts a session can share 24 hours with one that started at `started_at`.
fn nearby_range(started_at: NaiveDateTime) -> (NaiveDateTime, NaiveDateTime) {
    let reach = TimeDelta::hours(24) + MAX_SESSION;
    (started_at - reach, started_at + reach)
}

/// Loads what decides the submits of sessions of different users. Each comes with the time at which its submit arrived.
pub(super) fn load_context(
    db: &mut Db,
    sessions: &[(&LoadedSession, NaiveDateTime)],
) -> QueryResult<HashMap<UserId, SubmitContext>> {
    let arguments: Vec<_> = sessions
        .iter()
        .map(|(session, now)| ContextArguments::new(session, *now))
        .collect();
    let contexts: Vec<(UserId, SubmitContext)> = match db {
        Db::Pg(conn) => {
            statement::<(BigInt, SubmitContextSql)>(include_str!("context.postgres.sql"))
                .bind::<Text, _>(json::to_text(&arguments)?)
                .load(conn)?
        }
        Db::Sqlite(conn) => {
            let find = |arguments: &ContextArguments| {
                let query = bind_named::<(BigInt, SubmitContextSql)>(
                    include_str!("context.sqlite.sql"),
                    arguments,
                )?;
                query.get_result(conn)
            };
            arguments.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    Ok(contexts.into_iter().collect())
}

/// Returns all counted days of the user in order. Only a submit out of order needs them.
pub(super) fn list_counted_days(db: &mut Db, user: UserId) -> QueryResult<Vec<StreakDay>> {
    type Row = (NaiveDate, NaiveDateTime, i32, NaiveDateTime, i32);
    let rows = user_day::table
        .filter(
            user_day::user_id
                .eq(user)
                .and(user_day::minutes.ge(MIN_COUNTED_MINUTES)),
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
    let day = |(date, first, first_offset, last, last_offset): Row| StreakDay {
        date,
        first: LocalInstant {
            at: first,
            offset: first_offset,
        },
        last: LocalInstant {
            at: last,
            offset: last_offset,
        },
    };
    Ok(rows.into_iter().map(day).collect())
}

/// Returns the credited time of other sessions that can share 24 hours with one that started at `started_at`.
pub(super) fn list_nearby_credit(
    db: &mut Db,
    user: UserId,
    started_at: NaiveDateTime,
) -> QueryResult<Vec<CreditedInterval>> {
    let (from, to) = nearby_range(started_at);
    let rows = sessions::table
        .filter(
            sessions::user_id
                .eq(user)
                .and(sessions::started_at.gt(from))
                .and(sessions::started_at.lt(to))
                .and(sessions::credited_minutes.gt(0)),
        )
        .select((sessions::started_at, sessions::credited_minutes))
        .load::<(NaiveDateTime, i32)>(db)?;
    Ok(rows
        .into_iter()
        .map(|(started_at, minutes)| CreditedInterval::new(started_at, minutes))
        .collect())
}

/// Stores submits of different users, each once, and returns the ids of the stored sessions. On SQLite, loading and
/// storing share a write transaction, so that nothing changes in between.
pub(super) fn store(db: &mut Db, rows: &[&SubmitRows]) -> QueryResult<HashSet<String>> {
    match db {
        Db::Pg(conn) => {
            let store = statement::<Text>(include_str!("store.postgres.sql"))
                .bind::<Text, _>(json::to_text(&rows)?);
            let stored: Vec<String> = store.load(conn)?;
            Ok(stored.into_iter().collect())
        }
        Db::Sqlite(_) => rows.iter().map(|rows| store_one(db, rows)).collect(),
    }
}

fn store_one(db: &mut Db, rows: &SubmitRows) -> QueryResult<String> {
    sync::bump(db, rows.user_id)?;
    let statements = include_str!("store.sqlite.sql").split_inclusive(";\n");
    let statements: Vec<&'static str> = statements.collect();
    let &[
        session,
        totals,
        day,
        month,
        hour,
        category,
        board,
        badge,
        flag,
    ] = &*statements
    else {
        let reason = "store.sqlite.sql does not have the expected statements";
        return Err(diesel::result::Error::QueryBuilderError(reason.into()));
    };
    if let Db::Sqlite(conn) = db {
        execute_named(conn, session, std::slice::from_ref(&rows.session))?;
        execute_named(conn, totals, &rows.totals)?;
        execute_named(conn, day, &rows.days)?;
        execute_named(conn, month, &rows.months)?;
        execute_named(conn, hour, &rows.hours)?;
        execute_named(conn, category, &rows.categories)?;
        execute_named(conn, board, &rows.boards)?;
        execute_named(conn, badge, &rows.badges)?;
        execute_named(conn, flag, &rows.flags)?;
    }
    outbox::insert_all(db, &rows.events)?;
    Ok(rows.session.session_id.clone())
}
