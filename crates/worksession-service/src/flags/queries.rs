use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use super::model::{FlagEntry, FlagFilter, FlagState};

type Columns = (
    BigInt,
    Text,
    BigInt,
    Text,
    Text,
    Text,
    (Text, BigInt),
    Text,
    Nullable<Text>,
    Nullable<Timestamp>,
    Timestamp,
    Integer,
);

/// Lists the flags that match the filter, newest first.
pub(super) fn list(db: &mut Db, filter: &FlagFilter) -> QueryResult<Vec<FlagEntry>> {
    statement::<Columns>(
        "SELECT f.id, f.session_id, f.user_id, s.username, f.kind, f.severity, f.kind, f.amount, f.state, f.decision, \
          f.decided_at, f.created_at, s.credited_minutes \
         FROM session_flags f JOIN sessions s ON s.session_id = f.session_id \
         WHERE ($1 IS NULL OR f.state = $1) AND (NOT $2 OR f.severity = 'suspect') \
          AND ($3 IS NULL OR f.user_id = $3) AND ($4 IS NULL OR f.id < $4) ORDER BY f.id DESC LIMIT $5",
    )
    .bind::<Nullable<Text>, _>(filter.state.map(FlagState::name))
    .bind::<Bool, _>(filter.suspect)
    .bind::<Nullable<BigInt>, _>(filter.user)
    .bind::<Nullable<BigInt>, _>(filter.before)
    .bind::<BigInt, _>(filter.limit)
    .load(db)
}

pub(super) fn find(db: &mut Db, id: i64) -> QueryResult<Option<FlagEntry>> {
    let filter = FlagFilter {
        state: None,
        suspect: false,
        user: None,
        before: id.checked_add(1),
        limit: 1,
    };
    Ok(list(db, &filter)?.pop().filter(|flag| flag.id == id))
}

/// Records a decision and marks the session as changed.
pub(super) fn decide(
    db: &mut Db,
    flag: &FlagEntry,
    state: FlagState,
    decision: &str,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<()> {
    statement::<()>(
        "UPDATE session_flags SET state = $1, decision = $2, decided_at = $3 WHERE id = $4",
    )
    .bind::<Text, _>(state.name())
    .bind::<Text, _>(decision)
    .bind::<Timestamp, _>(now)
    .bind::<BigInt, _>(flag.id)
    .execute(db)?;
    let change =
        statement::<()>("UPDATE sessions SET seq = $1, changed_at = $2 WHERE session_id = $3")
            .bind::<BigInt, _>(seq)
            .bind::<Timestamp, _>(now)
            .bind::<Text, _>(&flag.session_id);
    change.execute(db).map(drop)
}
