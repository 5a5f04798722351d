use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::outbox;
use tokio::task::JoinHandle;

use super::{events, queries};
use crate::error::Error;
use crate::rules::time::OPEN_AFTER_PLANNED_END;
use crate::state::{AppState, State};

/// Sessions that are given up in one transaction.
const BATCH: i32 = 100;

/// Gives up sessions that nobody submitted within twelve hours of their planned end.
#[derive(Debug)]
pub(crate) struct Sweeper {
    task: JoinHandle<()>,
}

impl Sweeper {
    /// Sweeps now, and then each `interval`.
    pub(crate) fn spawn(state: State, interval: Duration) -> Self {
        let task = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(cause) = sweep(&state).await {
                    log::warn!("sessions that nobody submitted could not be given up: {cause}");
                }
            }
        });
        Self { task }
    }

    /// Ends it; a transaction under way completes on its own thread.
    pub(crate) async fn stop(self) {
        self.task.abort();
        // Ends with the cancellation that was just asked for.
        drop(self.task.await);
    }
}

async fn sweep(state: &AppState) -> Result<(), Error> {
    loop {
        let now = state.clock.now();
        let until: NaiveDateTime = now.naive_utc() - OPEN_AFTER_PLANNED_END;
        let (seen, given_up) = state
            .pool
            .write_tx(move |db| {
                let overdue = queries::overdue(db, until, BATCH)?;
                let (seen, mut given_up) = (overdue.len(), 0);
                for id in overdue {
                    if let Some(row) = queries::abandon(db, id)? {
                        outbox::insert(db, &events::abandoned(&row, now)?)?;
                        given_up += 1;
                    }
                }
                Ok::<_, Error>((seen, given_up))
            })
            .await?;
        if given_up > 0 {
            log::info!("{given_up} sessions were not submitted in time");
            state.relay.wake();
        }
        if seen < usize::try_from(BATCH).unwrap_or(usize::MAX) {
            return Ok(());
        }
    }
}
