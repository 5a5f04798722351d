use auth_types::UserId;
use chrono::{DateTime, Utc};
use db_kit::{Db, DbError, Pool};
use diesel::QueryResult;
use service_kit::http::RequestId;

use super::queries;
use super::rows::{LoadedSubmit, SubmitAttempt, SubmitBatcher, SubmitOutcome};
use crate::app_state::AppState;
use crate::error::Error;
use crate::rules::integrity::IntegrityFlag;
use crate::rules::submit::{decide, may_be_long_day, needs_counted_days};
use crate::sessions::model::{self, NewFlag, SessionRow};
use crate::sessions::queries as session_queries;
use crate::sessions::request_digest::compute_digest;
use crate::sessions::wire::Submission;
use crate::sync;

/// Creates the coalescer of submits, which batches different users on PostgreSQL.
pub(crate) fn new_batcher(pool: &Pool) -> SubmitBatcher {
    pool.batch_writes(
        |db, attempts| Ok(submit_many(db, attempts)?),
        |attempt| attempt.user.get(),
    )
}

/// Submits a session, and returns the response text that is stored with it.
///
/// # Errors
/// 404 or 409 without such a session to submit, 422 when locked fields differ.
pub(in crate::sessions) async fn submit(
    state: &AppState,
    user: UserId,
    mut submission: Submission,
    request_id: RequestId,
) -> Result<String, Error> {
    if let Some(id) = &mut submission.session_id {
        *id = model::parse_session_id(id)?;
    }
    // Without the locked fields, which are compared with the plan itself.
    let digest = compute_digest(&(
        &submission.note,
        submission.start_time.and_utc().timestamp_micros(),
        submission.end_time.and_utc().timestamp_micros(),
        submission.quality_rating,
        &submission.tags,
    ))?;
    let now = state.clock.now();
    let attempt = SubmitAttempt {
        user,
        submission,
        digest,
        now,
        request_id,
    };
    let outcome = match state.submits.run(attempt.clone()).await? {
        SubmitOutcome::Busy => submit_locked(state, attempt).await?,
        outcome => outcome,
    };
    match outcome {
        SubmitOutcome::Submitted(rows) => {
            state.wake();
            Ok(rows.session.submit_result)
        }
        SubmitOutcome::Answered(response) => Ok(response),
        SubmitOutcome::Differs(session, names) => {
            record_mismatch(state, *session, now).await?;
            Err(Error::LockedFieldsDiffer(names))
        }
        SubmitOutcome::Refused(cause) => Err(cause),
        SubmitOutcome::Busy => Err(DbError::Busy.into()),
    }
}

/// Waits for the user's lock outside the batch, so that nobody else waits. `sync::bump` takes the lock; its number
/// stays unused.
async fn submit_locked(state: &AppState, attempt: SubmitAttempt) -> Result<SubmitOutcome, Error> {
    let submit = move |db: &mut Db| {
        sync::bump(db, attempt.user)?;
        let outcome = submit_many(db, &[attempt])?.pop();
        outcome.ok_or_else(|| DbError::Busy.into())
    };
    state.pool.write_tx(submit).await
}

/// Submits sessions of different users. On SQLite it runs inside a write transaction.
fn submit_many(db: &mut Db, attempts: &[SubmitAttempt]) -> QueryResult<Vec<SubmitOutcome>> {
    let loaded = load(db, attempts)?;
    let attempts = attempts.iter().zip(loaded);
    let outcomes = attempts
        .map(|(attempt, loaded)| decide(attempt, loaded))
        .collect();
    store(db, outcomes)
}

/// Loads the session of each attempt and what decides it; none where there is no session.
fn load(db: &mut Db, attempts: &[SubmitAttempt]) -> QueryResult<Vec<Option<LoadedSubmit>>> {
    let mut sessions = queries::load_sessions(db, attempts)?;
    let open: Vec<_> = attempts
        .iter()
        .filter_map(|attempt| Some((sessions.get(&attempt.user)?, attempt.now.naive_utc())))
        .filter(|((session, _, _), _)| session.submitted_at.is_none())
        .collect();
    let mut contexts = match open.is_empty() {
        true => Default::default(),
        false => queries::load_context(db, &open)?,
    };
    let load = |attempt: &SubmitAttempt| {
        let Some((session, zone, seq)) = sessions.remove(&attempt.user) else {
            return Ok(None);
        };
        let context = contexts.remove(&attempt.user);
        let mut loaded = LoadedSubmit {
            session,
            zone,
            seq,
            context,
            counted_days: Vec::new(),
            nearby_credit: Vec::new(),
        };
        if needs_counted_days(&loaded) {
            loaded.counted_days = queries::list_counted_days(db, attempt.user)?;
        }
        if may_be_long_day(&loaded) {
            loaded.nearby_credit =
                queries::list_nearby_credit(db, attempt.user, loaded.session.started_at)?;
        }
        Ok(Some(loaded))
    };
    attempts.iter().map(load).collect()
}

fn store(db: &mut Db, outcomes: Vec<SubmitOutcome>) -> QueryResult<Vec<SubmitOutcome>> {
    let rows: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            SubmitOutcome::Submitted(rows) => Some(&**rows),
            _ => None,
        })
        .collect();
    let stored = match rows.is_empty() {
        true => Default::default(),
        false => queries::store(db, &rows)?,
    };
    let busy_unless_stored = |outcome| match outcome {
        SubmitOutcome::Submitted(rows) if !stored.contains(&rows.session.session_id) => {
            SubmitOutcome::Busy
        }
        outcome => outcome,
    };
    Ok(outcomes.into_iter().map(busy_unless_stored).collect())
}

/// Records the flag in its own transaction, because it stays although the submit is refused.
async fn record_mismatch(
    state: &AppState,
    session: SessionRow,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let record = move |db: &mut Db| {
        let seq = sync::bump(db, session.user_id)?;
        let now = now.naive_utc();
        let id = session.session_id;
        if let Some(nth) = session_queries::count_mismatch(db, &id, seq, now)?
            && nth <= IntegrityFlag::MAX_MISMATCHES
        {
            let flag = IntegrityFlag::LockedMismatch(nth);
            session_queries::insert_flag(db, &NewFlag::new(&id, session.user_id, flag, now))?;
        }
        Ok::<_, Error>(())
    };
    state.pool.write_tx(record).await?;
    state.streams.wake();
    Ok(())
}
