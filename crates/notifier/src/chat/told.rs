//! How deliveries end, and what is told of that.

use std::collections::BTreeMap;

use db_kit::outbox;
use diesel::QueryResult;

use super::model::{Answer, DeliveryRow, Ending, NewDelivery, Outcome};
use super::moves::Moves;
use super::queries;
use super::words::words;

impl Moves<'_> {
    /// Ends deliveries after so many more tries, and tells of them, unless they had ended before.
    pub(super) fn end<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r DeliveryRow> + Clone,
        tries: i64,
        ending: Ending,
        reason: &str,
    ) -> QueryResult<()> {
        let ids: Vec<&str> = rows.clone().map(|row| row.event_id.as_str()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let (noted, at) = (
            Some(reason).filter(|reason| !reason.is_empty()),
            self.now.naive_utc(),
        );
        let settled = queries::settle(self.db, &ids, tries, ending, noted, at)?;
        let rows = rows.filter(|row| settled.contains(&row.event_id));
        self.tell(rows, ending, reason)
    }

    /// Ends what was delivered.
    pub(super) fn record(&mut self, outcomes: &[Outcome]) -> QueryResult<()> {
        let told = |outcome: &&Outcome| outcome.answer == Answer::Delivered;
        let told = outcomes.iter().filter(told);
        let rows = told.flat_map(|outcome| &outcome.job.deliveries);
        self.end(rows, 1, Ending::Delivered, "")
    }

    /// Lets the ends go that came before these plans.
    pub(super) fn release_ends(&mut self, plans: &[&NewDelivery]) -> QueryResult<()> {
        if plans.is_empty() {
            return Ok(());
        }
        let at = self.now.naive_utc();
        let sessions: Vec<String> = plans.iter().map(|row| row.session_id.clone()).collect();
        let released = queries::release_ends(self.db, &sessions, at)?;
        self.expect(&released, at)
    }

    /// Tells what became of deliveries.
    pub(super) fn tell<'r>(
        &mut self,
        rows: impl Iterator<Item = &'r DeliveryRow>,
        ending: Ending,
        reason: &str,
    ) -> QueryResult<()> {
        let mut by_project: BTreeMap<i64, Vec<&DeliveryRow>> = BTreeMap::new();
        for row in rows {
            self.tally.ended.push(ending);
            by_project.entry(row.project_id).or_default().push(row);
        }
        let mut events = Vec::new();
        for rows in by_project.values() {
            events.extend(words(rows, ending, reason, self.now)?);
        }
        outbox::insert_all(self.db, &events)
    }
}
