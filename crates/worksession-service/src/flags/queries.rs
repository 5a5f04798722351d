use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamp};

use super::model::{Filter, FlagRow, FlagState};
use db_kit::statement::{Statement, arguments};

type Columns = (
    BigInt,
    Text,
    BigInt,
    Text,
    Text,
    Text,
    BigInt,
    Text,
    Nullable<Text>,
    Nullable<Timestamp>,
    Timestamp,
    Integer,
);

macro_rules! flags {
    () => {
        "SELECT f.id, f.session_id, f.user_id, s.username, f.kind, f.severity, f.amount, f.state, f.decision, \
         f.decided_at, f.created_at, s.credited_minutes \
         FROM a JOIN session_flags f ON true JOIN sessions s ON s.session_id = f.session_id WHERE "
    };
}

arguments! {
    struct ListArguments {
        state: Option<&'static str> as Nullable<Text>,
        suspect: bool as Bool,
        user_id: Option<i64> as Nullable<BigInt>,
        before: Option<i64> as Nullable<BigInt>,
        limit: i64 as BigInt,
    }
}

/// Flags that fit, newest first.
pub(super) fn list(db: &mut Db, filter: &Filter) -> QueryResult<Vec<FlagRow>> {
    const TEXT: &str = concat!(
        flags!(),
        "(p_state IS NULL OR f.state = p_state) AND (NOT p_suspect OR f.severity = 'suspect') \
         AND (p_user_id IS NULL OR f.user_id = p_user_id) AND (p_before IS NULL OR f.id < p_before) \
         ORDER BY f.id DESC LIMIT (SELECT p_limit FROM a)"
    );
    let arguments = ListArguments {
        state: filter.state.map(FlagState::name),
        suspect: filter.suspect,
        user_id: filter.user.map(UserId::get),
        before: filter.before,
        limit: filter.limit,
    };
    Statement::<_, Columns>::new(|| TEXT, &arguments).load(db)
}

arguments! {
    struct FindArguments {
        id: i64 as BigInt,
    }
}

/// One flag.
pub(super) fn find(db: &mut Db, id: i64) -> QueryResult<Option<FlagRow>> {
    const TEXT: &str = concat!(flags!(), "f.id = p_id");
    let arguments = FindArguments { id };
    Statement::<_, Columns>::new(|| TEXT, &arguments)
        .get_result(db)
        .optional()
}

arguments! {
    struct DecideArguments {
        id: i64 as BigInt,
        state: &'static str as Text,
        decision: String as Text,
        now: NaiveDateTime as Timestamp,
        session_id: String as Text,
        seq: i64 as BigInt,
    }
}

/// Notes a decision, and the change of the session with it.
pub(super) fn decide(
    db: &mut Db,
    flag: &FlagRow,
    state: FlagState,
    decision: &str,
    seq: i64,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let arguments = DecideArguments {
        id: flag.id,
        state: state.name(),
        decision: decision.to_owned(),
        now,
        session_id: flag.session_id.clone(),
        seq,
    };
    for text in [
        "UPDATE session_flags SET state = p_state, decision = p_decision, decided_at = p_now FROM a WHERE id = p_id",
        "UPDATE sessions SET seq = p_seq, changed_at = p_now FROM a WHERE session_id = p_session_id",
    ] {
        Statement::<_, ()>::new(text, &arguments).execute(db)?;
    }
    Ok(())
}
