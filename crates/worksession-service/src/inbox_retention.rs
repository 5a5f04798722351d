//! Deletes inbox rows after the broker can no longer redeliver their events.

use std::time::Duration;

use chrono::TimeDelta;
use db_kit::inbox;

use crate::app_state::State;
use crate::background_job::BackgroundJob;
use crate::error::Error;

/// How long inbox rows are retained: longer than the broker redelivers, or operators replay dead letters.
const RETENTION: TimeDelta = TimeDelta::days(30);
/// Rows deleted in one transaction.
const BATCH: i64 = 1_000;

/// Starts the job that deletes old inbox rows, at once and then every `every`.
pub(crate) fn spawn(state: State, every: Duration) -> BackgroundJob {
    let failure = "old inbox rows could not be deleted";
    BackgroundJob::spawn(every, failure, state, delete_old)
}

async fn delete_old(state: State) -> Result<(), Error> {
    let until = state.clock.now_naive() - RETENTION;
    let oldest = state.read(inbox::oldest).await?;
    let mut has_more = oldest.is_some_and(|oldest| oldest < until);
    while has_more {
        let delete = move |db: &mut _| Ok(inbox::delete_before(db, until, BATCH)?);
        has_more = state.pool.write_tx::<_, Error, _>(delete).await? > 0;
    }
    Ok(())
}
