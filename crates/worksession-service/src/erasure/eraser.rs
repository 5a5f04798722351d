use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use db_kit::Db;
use tokio::sync::Notify;

use super::{Erasure, queries};
use crate::app_state::{AppState, State};
use crate::background_job::BackgroundJob;
use crate::error::Error;
use crate::sessions::queries::{DeletionLock, lock_deletion};
use crate::webhooks::{self, WebhookOwner};
use crate::{chat_settings, rollups, sync, team_projects};

/// Rows deleted in one transaction, not counting dependent rows.
const BATCH: i64 = 1_000;
/// How long after its body has arrived a request can still write. The result of its validation can be two seconds old (from
/// the caches of both services) and take two more. Then come the waits for the database and the statement timeouts.
const LATE_WRITE: TimeDelta = TimeDelta::seconds(90);

/// The progress of an erasure after one transaction.
#[derive(Debug, PartialEq, Eq)]
enum EraseProgress {
    More,
    /// Nothing is left, or another process works on it.
    Done,
}

/// Starts the job that erases deleted accounts and teams: at once, whenever `wake` is notified, and every `every`.
pub(crate) fn spawn(state: State, wake: Arc<Notify>, every: Duration) -> BackgroundJob {
    BackgroundJob::spawn_woken(every, wake, "deletions could not be read", state, erase_due)
}

async fn erase_due(state: State) -> Result<(), Error> {
    let now = state.clock.now_naive();
    let due = state.read(move |db| queries::list_due(db, now)).await?;
    for erasure in due {
        // A failed erasure stays due, and must not delay the others.
        if let Err(cause) = erase(&state, erasure).await {
            log::warn!("the data of {erasure:?} could not be erased: {cause}");
        }
    }
    Ok(())
}

async fn erase(state: &AppState, erasure: Erasure) -> Result<(), Error> {
    let body = i64::try_from(state.config.limits.body_seconds).unwrap_or(i64::MAX);
    let late = TimeDelta::try_seconds(body)
        .and_then(|body| body.checked_add(&LATE_WRITE))
        .unwrap_or(TimeDelta::MAX);
    loop {
        let now = state.clock.now();
        let erase = move |db: &mut Db| erase_batch(db, erasure, now, late);
        let progress = state.pool.write_tx(erase).await?;
        // The notifier must receive the removal of each chat and webhook.
        state.relay.wake();
        if progress == EraseProgress::Done {
            return Ok(());
        }
    }
}

fn erase_batch(
    db: &mut Db,
    erasure: Erasure,
    now: DateTime<Utc>,
    late: TimeDelta,
) -> Result<EraseProgress, Error> {
    let Some(noted_at) = queries::lock_due(db, erasure, now.naive_utc())? else {
        return Ok(EraseProgress::Done);
    };
    if delete_batch(db, erasure, now)? == EraseProgress::More {
        return Ok(EraseProgress::More);
    }
    match noted_at.checked_add_signed(late) {
        Some(until) if now.naive_utc() < until => queries::postpone(db, erasure, until)?,
        _ => queries::delete(db, erasure)?,
    };
    log::info!("the data of {erasure:?} was erased");
    Ok(EraseProgress::Done)
}

fn delete_batch(db: &mut Db, erasure: Erasure, now: DateTime<Utc>) -> Result<EraseProgress, Error> {
    let deleted = match erasure {
        Erasure::User(user) => {
            let mut limit = BATCH;
            // Excludes transactions that write about many sessions, before this one locks rows that they lock, too.
            lock_deletion(db, DeletionLock::Exclusive)?;
            // Comes before the locks of the sessions' rows, as in every change of a user's data.
            sync::bump(db, user)?;
            for delete in [
                queries::delete_sessions,
                queries::delete_owned,
                queries::delete_events,
            ] {
                limit -= count(delete(db, user, limit)?);
                if limit <= 0 {
                    return Ok(EraseProgress::More);
                }
            }
            let webhooks = webhooks::delete_for_owner(db, WebhookOwner::User(user), now, limit)?;
            BATCH - limit + count(webhooks)
        }
        Erasure::Team(team) => {
            team_projects::queries::archive_all(db, team, now.naive_utc())?;
            rollups::delete_boards_for_team(db, team)?;
            let chats = chat_settings::remove_for_team(db, team, now, BATCH)?;
            let webhooks = webhooks::delete_for_owner(db, WebhookOwner::Team(team), now, BATCH)?;
            count(chats) + count(webhooks)
        }
    };
    match deleted >= BATCH {
        true => Ok(EraseProgress::More),
        false => Ok(EraseProgress::Done),
    }
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(BATCH)
}
