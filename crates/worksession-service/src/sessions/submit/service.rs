use auth_types::UserId;
use chrono::{DateTime, Utc};
use db_kit::{Db, DbError, Pool};
use diesel::QueryResult;
use service_kit::http::RequestId;

use super::queries;
use super::rows::{LoadedSubmit, SubmitAttempt, SubmitBatcher, SubmitOutcome};
use crate::error::Error;
use crate::rules::integrity::IntegrityFlag;
use crate::rules::submit::{decide, may_be_long_day, needs_counted_days};
use crate::sessions::digest::digest;
use crate::sessions::model::{self, NewFlag, SessionRow};
use crate::sessions::queries as session_queries;
use crate::sessions::wire::Submission;
use crate::state::AppState;
use crate::sync;

/// Creates the coalescer of submits, which batches different users on PostgreSQL.
pub(crate) fn submits(pool: &Pool) -> SubmitBatcher {
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
        *id = model::session_id(id)?;
    }
    // Without the locked fields, which are compared with the plan itself.
    let digest = digest(&(
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
        SubmitOutcome::Busy => alone(state, attempt).await?,
        outcome => outcome,
    };
    match outcome {
        SubmitOutcome::Submitted(rows) => {
            state.wake();
            Ok(rows.session.submit_result)
        }
        SubmitOutcome::Answered(answer) => Ok(answer),
        SubmitOutcome::Differs(session, names) => {
            flag_mismatch(state, *session, now).await?;
            Err(Error::LockedFieldsDiffer(names))
        }
        SubmitOutcome::Refused(cause) => Err(cause),
        SubmitOutcome::Busy => Err(DbError::Busy.into()),
    }
}

/// Waits for the user's lock outside the batch, so that nobody else waits. `sync::bump` takes the lock; its number
/// stays unused.
async fn alone(state: &AppState, attempt: SubmitAttempt) -> Result<SubmitOutcome, Error> {
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
    let decided = attempts.iter().zip(loaded);
    let decided = decided
        .map(|(attempt, loaded)| decide(attempt, loaded))
        .collect();
    store(db, decided)
}

/// Loads the session of each attempt and what decides it; none where there is no session.
fn load(db: &mut Db, attempts: &[SubmitAttempt]) -> QueryResult<Vec<Option<LoadedSubmit>>> {
    let mut found = queries::sessions(db, attempts)?;
    let open: Vec<_> = attempts
        .iter()
        .filter_map(|attempt| Some((found.get(&attempt.user)?, attempt.now.naive_utc())))
        .filter(|((session, _, _), _)| session.submitted_at.is_none())
        .collect();
    let mut facts = match open.is_empty() {
        true => Default::default(),
        false => queries::facts(db, &open)?,
    };
    let load = |attempt: &SubmitAttempt| {
        let Some((session, zone, seq)) = found.remove(&attempt.user) else {
            return Ok(None);
        };
        let facts = facts.remove(&attempt.user);
        let mut loaded = LoadedSubmit {
            session,
            zone,
            seq,
            facts,
            counted_days: Vec::new(),
            work_near: Vec::new(),
        };
        if needs_counted_days(&loaded) {
            loaded.counted_days = queries::counted_days(db, attempt.user)?;
        }
        if may_be_long_day(&loaded) {
            loaded.work_near = queries::work_near(db, attempt.user, loaded.session.started_at)?;
        }
        Ok(Some(loaded))
    };
    attempts.iter().map(load).collect()
}

fn store(db: &mut Db, decided: Vec<SubmitOutcome>) -> QueryResult<Vec<SubmitOutcome>> {
    let rows: Vec<_> = decided
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
    let known = |outcome| match outcome {
        SubmitOutcome::Submitted(rows) if !stored.contains(&rows.session.session_id) => {
            SubmitOutcome::Busy
        }
        outcome => outcome,
    };
    Ok(decided.into_iter().map(known).collect())
}

/// Records the flag in its own transaction, because it stays although the submit is refused.
async fn flag_mismatch(
    state: &AppState,
    session: SessionRow,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let flag = move |db: &mut Db| {
        let seq = sync::bump(db, session.user_id)?;
        let now = now.naive_utc();
        let id = session.session_id;
        if let Some(nth) = session_queries::count_mismatch(db, &id, seq, now)?
            && nth <= IntegrityFlag::MISMATCHES_RECORDED
        {
            let sign = IntegrityFlag::LockedMismatch(nth);
            session_queries::insert_flag(db, &NewFlag::new(&id, session.user_id, sign, now))?;
        }
        Ok::<_, Error>(())
    };
    state.pool.write_tx(flag).await?;
    state.live.wake();
    Ok(())
}
