//! Taking over hooks whose holder is gone.

use diesel::QueryResult;

use super::model::{Composition, DestinationRow};
use super::moves::Moves;
use super::queries;

impl Moves<'_> {
    /// Has what holders who are gone were sending sent again as it was, and counts it: they died perhaps between the chat's
    /// answer and the row.
    pub(super) fn take_over(&mut self, due: &[DestinationRow]) -> QueryResult<()> {
        for sending in due.iter().filter_map(|hook| hook.sending.as_deref()) {
            let sent = Composition::of(sending);
            let maybe_told = queries::record_abandoned(self.db, sent.batch_id, &sent.event_ids)?;
            self.tally.possible_duplicates += u64::try_from(maybe_told).unwrap_or_default();
        }
        Ok(())
    }
}
