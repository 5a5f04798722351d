//! How sessions ended: told behind their plans.

use std::collections::{BTreeSet, HashSet};

use chrono::NaiveDateTime;
use db_kit::{Db, on_backend, prepared};
use diesel::prelude::*;
use diesel::sql_types::{Array, BigInt, Text, Timestamp};

use crate::chat::model::Kind;
use crate::schema::deliveries;

/// Not how a session ended whose plan waits.
pub(super) const TELLABLE: &str = "NOT (deliveries.kind IN ('finished', 'abandoned') AND EXISTS (SELECT 1 FROM deliveries AS plans \
     WHERE plans.session_id = deliveries.session_id AND plans.kind = 'plan' AND plans.settled_at IS NULL))";

/// Those of these sessions whose plan is written down, told or not.
pub(in crate::chat) fn plans_among(
    db: &mut Db,
    sessions: &[String],
) -> QueryResult<HashSet<String>> {
    let known: Vec<String> = on_backend!(db, conn => deliveries::table
        .filter(deliveries::session_id.eq_any(sessions))
        .filter(deliveries::kind.eq(Kind::Plan.name()))
        .select(deliveries::session_id)
        .load(conn))?;
    Ok(known.into_iter().collect())
}

/// The end of a session that waits for its plan.
macro_rules! waiting_end {
    ($table:literal) => {
        concat!(
            $table,
            ".kind IN ('finished', 'abandoned') AND ",
            $table,
            ".settled_at IS NULL AND ",
            $table,
            ".attempts = 0"
        )
    };
}

/// Lets what came before its plan go as soon as that is told, and says of which projects there was some.
pub(in crate::chat) fn release_ends(
    db: &mut Db,
    sessions: &[String],
    now: NaiveDateTime,
) -> QueryResult<BTreeSet<i64>> {
    // Written out rather than bound: only then is the index of such ends seen to serve it. Most of the time there are
    // none, and one look at it is enough.
    let waiting = || prepared::<BigInt>("UPDATE deliveries SET next_attempt_at = ");
    let released: Vec<i64> = match db {
        Db::Pg(conn) => waiting()
            .bind::<Timestamp, _>(now)
            .sql(concat!(
                " WHERE EXISTS (SELECT 1 FROM deliveries AS ends WHERE ",
                waiting_end!("ends"),
                ") AND session_id = ANY("
            ))
            .bind::<Array<Text>, _>(sessions)
            .sql(concat!(
                ") AND ",
                waiting_end!("deliveries"),
                " RETURNING project_id"
            ))
            .load(conn)?,
        Db::Sqlite(conn) => {
            let mut released = Vec::new();
            for session in sessions {
                let of_session: Vec<i64> = waiting()
                    .bind::<Timestamp, _>(now)
                    .sql(" WHERE session_id = ")
                    .bind::<Text, _>(session)
                    .sql(concat!(
                        " AND ",
                        waiting_end!("deliveries"),
                        " RETURNING project_id"
                    ))
                    .load(conn)?;
                released.extend(of_session);
            }
            released
        }
    };
    Ok(released.into_iter().collect())
}

/// Lets ends go that came at the same moment as their plan, each unseen by the other, and says of which projects there was
/// some.
pub(in crate::chat) fn release_missed(
    db: &mut Db,
    now: NaiveDateTime,
) -> QueryResult<BTreeSet<i64>> {
    let missed = prepared::<BigInt>("UPDATE deliveries SET next_attempt_at = ")
        .bind::<Timestamp, _>(now)
        .sql(" WHERE next_attempt_at > ")
        .bind::<Timestamp, _>(now)
        .sql(concat!(
            " AND ",
            waiting_end!("deliveries"),
            " AND EXISTS (SELECT 1 FROM deliveries AS plans WHERE plans.session_id = deliveries.session_id \
             AND plans.kind = 'plan') RETURNING project_id"
        ));
    let released: Vec<i64> = missed.load(db)?;
    Ok(released.into_iter().collect())
}
