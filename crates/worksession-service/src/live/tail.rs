use std::collections::HashMap;
use std::time::Duration;

use chrono::NaiveDateTime;

use super::OVERLAP;
use super::change::{Batch, Change};
use super::queries::{self, Head, MOST_HEADS, NewsRow, Span};
use crate::chore::Chore;
use crate::error::Error;
use crate::sessions::Status;
use crate::state::{AppState, State};

/// How often the database is looked at, when nothing was changed here.
const EVERY: Duration = Duration::from_millis(250);
/// How long each look is followed by none, so that many changes at once are read together.
const REST: Duration = Duration::from_millis(20);

/// Reads what changed and hands it to the streams, while one is open.
pub(crate) fn spawn(state: State) -> Chore {
    Chore::of(async move {
        let mut streams = state.live.streams();
        while streams.wait_for(|open| *open > 0).await.is_ok() {
            follow(&state).await;
        }
    })
}

/// Follows the changes until no stream is open.
async fn follow(state: &AppState) {
    let mut reader = Reader::default();
    let mut down = false;
    while !state.live.rest() {
        match reader.look(state).await {
            Ok(()) if std::mem::take(&mut down) => log::info!("live events go on"),
            Ok(()) => {}
            // Said once an outage; what was missed meanwhile is read after it.
            Err(cause) if !std::mem::replace(&mut down, true) => {
                log::warn!("live events wait for the database: {cause}");
            }
            Err(_) => {}
        }
        tokio::time::sleep(REST).await;
        tokio::select! {
            () = state.live.changed() => {}
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

#[derive(Debug, Default)]
struct Reader {
    /// When the last look began; none before the first, which only learns what is there.
    looked: Option<NaiveDateTime>,
    /// What changed before was skipped.
    floor: NaiveDateTime,
    /// The sessions of the last look, as they were: what is among them again is no news.
    known: HashMap<String, (i64, Status)>,
}

impl Reader {
    async fn look(&mut self, state: &AppState) -> Result<(), Error> {
        let now = state.clock.now_naive();
        let last = self.looked.unwrap_or(now);
        // Before now too, for a clock that was set back.
        let after = (last.min(now) - OVERLAP).max(self.floor.min(now));
        let span = Span { after, now };
        let heads = state.read(move |db| queries::heads(db, span)).await?;
        if heads.len() >= MOST_HEADS {
            self.floor = now;
            self.known.clear();
            state.live.hand_out(Batch::TooMuch, now);
        } else {
            let rows = match self.looked {
                Some(_) => self.news(state, &heads).await?,
                None => Vec::new(),
            };
            let batch = self.batch(last, after, &heads, rows);
            state.live.hand_out(batch, now);
        }
        self.looked = Some(now);
        Ok(())
    }

    /// The sessions that changed since the last look.
    async fn news(&self, state: &AppState, heads: &[Head]) -> Result<Vec<NewsRow>, Error> {
        let seen = |head: &&Head| {
            let known = self.known.get(&head.session_id);
            known.is_none_or(|(seq, _)| *seq != head.seq)
        };
        let ids: Vec<String> = heads
            .iter()
            .filter(seen)
            .map(|head| head.session_id.clone())
            .collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        state.read(move |db| queries::news(db, &ids)).await
    }

    /// What to hand out, and from now on known.
    fn batch(
        &mut self,
        before: NaiveDateTime,
        since: NaiveDateTime,
        heads: &[Head],
        mut rows: Vec<NewsRow>,
    ) -> Batch {
        let told = std::mem::take(&mut self.known);
        let head = |head: &Head| (head.session_id.clone(), (head.seq, head.status));
        self.known = heads.iter().map(head).collect();
        rows.sort_unstable_by_key(|row| (row.changed_at, row.seq));
        let mut changes = Vec::with_capacity(rows.len());
        for row in rows {
            // It may have changed once more since its head was read.
            let id = row.session.session_id.clone();
            self.known.insert(id.clone(), (row.seq, row.session.status));
            let known = told.get(&id).map(|(_, status)| *status);
            match Change::new(row, known, since) {
                Ok(change) => changes.push(change),
                Err(cause) => log::error!("what changed in session {id} cannot be told: {cause}"),
            }
        }
        Batch::Changes { before, changes }
    }
}
