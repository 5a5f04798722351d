//! Taking over hooks: those whose holder is gone, and those of which something is held.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::QueryResult;

use super::model::{Composition, DestinationRow, Placed};
use super::moves::Moves;
use super::queries;

/// How long what a holder was sending is waited for where it is not written down, while there is a broker: it gives that
/// to somebody else as soon as the holder is gone.
const MAY_COME_AGAIN: Duration = Duration::from_secs(120);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Moves<'_> {
    /// Takes over the hooks among these whose holder is gone, and gives those that may be worked on.
    pub(super) fn take_over(
        &mut self,
        due: Vec<DestinationRow>,
    ) -> QueryResult<Vec<DestinationRow>> {
        let (mut ours, mut waiting) = (Vec::new(), Vec::new());
        for destination in due {
            match self.take_over_one(&destination)? {
                None => ours.push(destination),
                Some(sending) => waiting.push(Placed {
                    lease_owner: destination.lease_owner.clone(),
                    due_at: Some(self.now.naive_utc() + LOOK_EVERY),
                    sending: Some(sending),
                    destination,
                }),
            }
        }
        queries::place(self.db, &waiting)?;
        Ok(ours)
    }

    /// Further hooks, up to `limit` with those that are `due`, of which something is held and that nobody else has.
    pub(super) fn due_held(
        &mut self,
        due: &[DestinationRow],
        limit: i64,
    ) -> QueryResult<Vec<DestinationRow>> {
        let at = self.now.naive_utc();
        let room = usize::try_from(limit)
            .unwrap_or_default()
            .saturating_sub(due.len());
        let mut wanted = self.lane.due(at, limit);
        for hook in due {
            wanted.remove(&hook.project_id);
        }
        let mut wanted: BTreeSet<i64> = wanted.into_iter().take(room).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let free = queries::lock_free(self.db, &wanted)?;
        for hook in &free {
            wanted.remove(&hook.project_id);
            self.tally.turns.insert(hook.project_id, hook.turn(false));
        }
        self.tally.taken.extend(wanted);
        let callable = |hook: &DestinationRow| hook.address().is_some() && hook.free_at <= at;
        Ok(free.into_iter().filter(callable).collect())
    }

    /// Has what a holder who is gone was sending sent again as it was, and counts it: he died perhaps between the chat's
    /// answer and the row. While some of it is still on its way here, gives what the hook's row is to say: without it
    /// the message would be another one, and a chat that shows a message once would show both.
    fn take_over_one(&mut self, destination: &DestinationRow) -> QueryResult<Option<String>> {
        let Some(sending) = &destination.sending else {
            return Ok(None);
        };
        let sent = Composition::of(sending);
        let now = self.now.timestamp();
        let since = sent.incomplete_since.filter(|_| self.lane.is_fed());
        let since = since.unwrap_or(now);
        let waited = Duration::from_secs(u64::try_from(now - since).unwrap_or_default());
        let known = queries::known_among(self.db, &sent.event_ids)?;
        let missing = sent.event_ids.iter().filter(|id| !known.contains(**id));
        let missing = missing.count();
        if missing > 0 && waited < MAY_COME_AGAIN && destination.address().is_some() {
            return Ok(Some(sent.incomplete(since)));
        }
        let abandoned = queries::record_abandoned(self.db, sent.batch_id, &sent.event_ids)?;
        let maybe_told = abandoned + missing;
        self.tally.possible_duplicates += u64::try_from(maybe_told).unwrap_or_default();
        Ok(None)
    }
}
