use std::time::Duration;

use chrono::TimeDelta;

use super::{deliveries, queries, revisions};
use crate::app_state::State;
use crate::background_job::BackgroundJob;
use crate::error::Error;

/// How long deliveries stay in the log.
const RETENTION: TimeDelta = TimeDelta::days(30);
/// Rows that are deleted in one transaction, apart from the webhooks themselves.
const BATCH: i64 = 1_000;

/// Deletes old deliveries, and what deleted webhooks left behind; now, and then each `every`.
pub(crate) fn spawn(state: State, every: Duration) -> BackgroundJob {
    let failure = "old webhook deliveries could not be deleted";
    BackgroundJob::spawn(every, failure, state, delete_expired)
}

async fn delete_expired(state: State) -> Result<(), Error> {
    let until = state.clock.now_naive() - RETENTION;
    let is_due = state.pool.read::<_, Error, _>(move |db| {
        Ok(deliveries::queries::has_any_before(db, until)? || queries::find_deleted(db)?.is_some())
    });
    if !is_due.await? {
        return Ok(());
    }
    loop {
        let deleted = state.pool.write_tx::<_, Error, _>(move |db| {
            let mut deleted = deliveries::queries::delete_before(db, until, BATCH)?;
            if let Some(id) = queries::find_deleted(db)? {
                deleted += revisions::delete_rows(db, id, BATCH)?;
            }
            Ok(deleted)
        });
        if deleted.await? == 0 {
            return Ok(());
        }
    }
}
