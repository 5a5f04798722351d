use std::collections::HashMap;
use std::time::Duration;

use chrono::NaiveDateTime;

use super::OVERLAP;
use super::queries::{self, MAX_HEADS, UpdateHead, UpdateRow, UpdateWindow};
use super::update::{SessionUpdate, UpdateBatch};
use crate::app_state::{AppState, State};
use crate::background_job::BackgroundJob;
use crate::error::Error;
use crate::sessions::SessionStatus;

/// The interval between two reads of the database, when this process changes nothing.
const INTERVAL: Duration = Duration::from_millis(250);
/// The pause after each read, so that many simultaneous changes are read together.
const PAUSE: Duration = Duration::from_millis(20);

/// Starts the job that reads changes and passes them to the streams, while any is open.
pub(crate) fn spawn(state: State) -> BackgroundJob {
    BackgroundJob::new(async move {
        let mut streams = state.streams.streams();
        while streams.wait_for(|open| *open > 0).await.is_ok() {
            read_updates(&state).await;
        }
    })
}

/// Reads changes until no stream is open.
async fn read_updates(state: &AppState) {
    let mut reader = UpdateReader::default();
    let mut is_down = false;
    while !state.streams.stop_if_unused() {
        match reader.read(state).await {
            Ok(()) if std::mem::take(&mut is_down) => log::info!("event streams resume"),
            Ok(()) => {}
            // Logged once per outage. The first read after it includes what was missed.
            Err(cause) if !std::mem::replace(&mut is_down, true) => {
                log::warn!("event streams are delayed, the database does not answer: {cause}");
            }
            Err(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
        tokio::select! {
            () = state.streams.wait_for_change() => {}
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

#[derive(Debug, Default)]
struct UpdateReader {
    /// When the last read began; none before the first read, which only sets the baseline.
    last_read: Option<NaiveDateTime>,
    /// Changes before this time were skipped.
    floor: NaiveDateTime,
    /// The sessions of the last read, with number and status, so that an unchanged session is not sent again.
    known: HashMap<String, (i64, SessionStatus)>,
}

impl UpdateReader {
    async fn read(&mut self, state: &AppState) -> Result<(), Error> {
        let now = state.clock.now_naive();
        let last = self.last_read.unwrap_or(now);
        // The clock may have been set back.
        let after = (last.min(now) - OVERLAP).max(self.floor.min(now));
        let window = UpdateWindow { after, now };
        let heads = state
            .read(move |db| queries::list_heads(db, window))
            .await?;
        if heads.len() >= MAX_HEADS {
            self.floor = now;
            self.known.clear();
            state.streams.send_batch(UpdateBatch::TooMuch, now);
        } else {
            let rows = match self.last_read {
                Some(_) => self.load_updates(state, &heads).await?,
                None => Vec::new(),
            };
            let batch = self.build_batch(last, after, &heads, rows);
            state.streams.send_batch(batch, now);
        }
        self.last_read = Some(now);
        Ok(())
    }

    /// Returns the sessions that changed since the last read.
    async fn load_updates(
        &self,
        state: &AppState,
        heads: &[UpdateHead],
    ) -> Result<Vec<UpdateRow>, Error> {
        let is_new = |head: &&UpdateHead| {
            let known = self.known.get(&head.session_id);
            known.is_none_or(|(seq, _)| *seq != head.seq)
        };
        let ids: Vec<String> = heads
            .iter()
            .filter(is_new)
            .map(|head| head.session_id.clone())
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        state.read(move |db| queries::list_updates(db, &ids)).await
    }

    /// Returns the batch to send, and stores its sessions as known.
    fn build_batch(
        &mut self,
        before: NaiveDateTime,
        since: NaiveDateTime,
        heads: &[UpdateHead],
        mut rows: Vec<UpdateRow>,
    ) -> UpdateBatch {
        let previous = std::mem::take(&mut self.known);
        let head = |head: &UpdateHead| (head.session_id.clone(), (head.seq, head.status));
        self.known = heads.iter().map(head).collect();
        rows.sort_unstable_by_key(|row| (row.changed_at, row.seq));
        let mut changes = Vec::with_capacity(rows.len());
        for row in rows {
            // The session may have changed again since its head was read.
            let id = row.session.session_id.clone();
            self.known.insert(id.clone(), (row.seq, row.session.status));
            let last_status = previous.get(&id).map(|(_, status)| *status);
            match SessionUpdate::new(row, last_status, since) {
                Ok(change) => changes.push(change),
                Err(cause) => log::error!("the change of session {id} cannot be sent: {cause}"),
            }
        }
        UpdateBatch::Changes { before, changes }
    }
}
