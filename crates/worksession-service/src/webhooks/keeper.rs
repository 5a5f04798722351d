use std::time::Duration;

use chrono::TimeDelta;

use super::{deliveries, queries, revisions};
use crate::chore::BackgroundJob;
use crate::error::Error;
use crate::state::State;

/// How long deliveries stay in the log.
const KEPT: TimeDelta = TimeDelta::days(30);
/// Rows that are deleted in one transaction, apart from the webhooks themselves.
const BATCH: i64 = 1_000;

/// Deletes old deliveries, and what deleted webhooks left behind; now, and then each `every`.
pub(crate) fn spawn(state: State, every: Duration) -> BackgroundJob {
    let failure = "old webhook deliveries could not be deleted";
    BackgroundJob::spawn(every, failure, state, look)
}

async fn look(state: State) -> Result<(), Error> {
    let until = state.clock.now_naive() - KEPT;
    let there_is_some = state.pool.read::<_, Error, _>(move |db| {
        Ok(deliveries::queries::any_before(db, until)? || queries::find_deleted(db)?.is_some())
    });
    if !there_is_some.await? {
        return Ok(());
    }
    loop {
        let cleared = state.pool.write_tx::<_, Error, _>(move |db| {
            let mut cleared = deliveries::queries::delete_before(db, until, BATCH)?;
            if let Some(id) = queries::find_deleted(db)? {
                cleared += revisions::clear(db, id, BATCH)?;
            }
            Ok(cleared)
        });
        if cleared.await? == 0 {
            return Ok(());
        }
    }
}
