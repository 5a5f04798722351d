use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::{Db, outbox};

use super::{events, queries};
use crate::app_state::State;
use crate::background_job::BackgroundJob;
use crate::error::Error;
use crate::rules::credit::OPEN_AFTER_PLANNED_END;
use crate::sync;

/// The most sessions that are abandoned in one transaction.
const BATCH: i32 = 100;

/// Abandons sessions that nobody submits within twelve hours of their planned end; now, and then each `every`.
pub(crate) fn spawn(state: State, every: Duration) -> BackgroundJob {
    let failure = "sessions that nobody submitted could not be abandoned";
    BackgroundJob::spawn(every, failure, state, sweep)
}

async fn sweep(state: State) -> Result<(), Error> {
    loop {
        let now = state.clock.now();
        let until: NaiveDateTime = now.naive_utc() - OPEN_AFTER_PLANNED_END;
        let abandon = move |db: &mut Db| {
            let sessions = queries::list_overdue(db, until, BATCH)?;
            let (count, mut abandoned) = (sessions.len(), 0);
            for (user, id) in sessions {
                let seq = sync::bump(db, user)?;
                if let Some(row) = queries::mark_abandoned(db, &id, seq, now.naive_utc())? {
                    outbox::insert(db, &events::build_abandoned(&row, now)?)?;
                    abandoned += 1;
                }
            }
            Ok::<_, Error>((count, abandoned))
        };
        let (count, abandoned) = state.pool.write_tx(abandon).await?;
        if abandoned > 0 {
            log::info!("abandoned {abandoned} sessions that were not submitted in time");
            state.wake();
        }
        if count < usize::try_from(BATCH).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
}
