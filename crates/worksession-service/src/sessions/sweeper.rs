use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::{Db, outbox};

use super::{events, queries};
use crate::chore::BackgroundJob;
use crate::error::Error;
use crate::rules::time::OPEN_AFTER_PLANNED_END;
use crate::state::State;
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
            let overdue = queries::overdue(db, until, BATCH)?;
            let (seen, mut given_up) = (overdue.len(), 0);
            for (user, id) in overdue {
                let seq = sync::bump(db, user)?;
                if let Some(row) = queries::abandon(db, &id, seq, now.naive_utc())? {
                    outbox::insert(db, &events::abandoned(&row, now)?)?;
                    given_up += 1;
                }
            }
            Ok::<_, Error>((seen, given_up))
        };
        let (seen, given_up) = state.pool.write_tx(abandon).await?;
        if given_up > 0 {
            log::info!("abandoned {given_up} sessions that were not submitted in time");
            state.wake();
        }
        if seen < usize::try_from(BATCH).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
}
