//! How deliveries end, and what is told of that.

use std::collections::{BTreeMap, HashSet};

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

    /// Writes down what of these jobs is not yet, and ends what was delivered.
    pub(super) fn record(&mut self, outcomes: &[Outcome]) -> QueryResult<()> {
        let at = self.now.naive_utc();
        let unwritten = outcomes.iter().flat_map(|outcome| &outcome.job.unwritten);
        let mut unwritten: Vec<&NewDelivery> = unwritten.map(|row| &**row).collect();
        // As all who write several do: two who write the same then wait for each other, no more.
        unwritten.sort_by(|a, b| a.event_id.cmp(&b.event_id));
        let is_told = |outcome: &&Outcome| outcome.answer == Answer::Delivered;
        let rows = outcomes.iter().filter(is_told);
        let rows = rows.flat_map(|outcome| &outcome.job.deliveries);
        let all_told = outcomes.iter().all(|outcome| is_told(&outcome));
        let mut ended = HashSet::new();
        let mut to_settle: HashSet<&str> = rows.clone().map(|row| row.event_id.as_str()).collect();
        if all_told {
            for row in &unwritten {
                to_settle.remove(row.event_id.as_str());
            }
            ended = queries::insert_delivered(self.db, &unwritten, at)?;
        } else {
            let rows: Vec<NewDelivery> = unwritten.iter().copied().cloned().collect();
            queries::insert_deliveries(self.db, &rows)?;
        }
        self.release_ends(&unwritten)?;
        if !to_settle.is_empty() {
            let ids: Vec<&str> = to_settle.into_iter().collect();
            let delivered = Ending::Delivered;
            ended.extend(queries::settle(self.db, &ids, 1, delivered, None, at)?);
        }
        let rows = rows.filter(|row| ended.contains(&row.event_id));
        self.tell(rows, Ending::Delivered, "")
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
