use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::Db;
use db_kit::outbox::{self, enqueue};
use diesel::QueryResult;
use event_types::IntegrationDisabled;

use super::model::{Answer, DISABLED, DeliveryRow, DestinationRow, Ending, Job, Kind};
use super::queries;
use super::words::words;
use crate::{SOURCE, waits};

/// How long a hook is held without a word: a send takes ten seconds at most.
const LEASE: Duration = Duration::from_secs(30);

/// How many deliveries of a hook are ended in one transaction.
const SLICE: i64 = 100;

/// How many notifications one message tells of at most. Twenty lines of the usual length fit into every
/// chat's limit, and nobody reads more.
const DIGEST: i64 = 20;

/// Beyond this a date would overflow; whoever asks for more is given up long before.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3_600);

const NEVER_KNOWN: &str = "The project's chat settings did not arrive";
const RESTS: &str = "The chat asked not to be called for longer than that";
pub(super) const NO_CHAT: &str = "The project has no chat";

/// What a transaction did, for figures and wakes once it is committed.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) ended: Vec<Ending>,
    pub(super) possible_duplicates: u64,
    pub(super) disabled: u64,
    pub(super) retries: u64,
    /// Hooks to be looked at once it is committed, and when the first of what waits there is given up.
    pub(super) expected: BTreeMap<i64, NaiveDateTime>,
}

/// The moves that a row can make, inside one transaction.
pub(super) struct Moves<'a> {
    pub(super) db: &'a mut Db,
    pub(super) tally: &'a mut Tally,
    pub(super) now: DateTime<Utc>,
}

impl Moves<'_> {
    /// Ends what needs no sending, then either holds the hook for the message whose turn it is, or lets
    /// it go.
    pub(super) fn proceed(
        &mut self,
        destination: DestinationRow,
        owner: &str,
    ) -> QueryResult<Option<Job>> {
        let (project_id, at) = (destination.project_id, self.now.naive_utc());
        self.give_up(&destination)?;
        let Some(sealed) = destination.address() else {
            let off = destination.state == DISABLED;
            let reason = if off {
                "The project's chat is switched off"
            } else {
                NO_CHAT
            };
            let open = queries::list_open(self.db, project_id, destination.revision, SLICE)?;
            self.end(&open, Ending::Skipped, reason)?;
            return self.let_go(&destination).map(|()| None);
        };
        let next = if destination.free_at <= at {
            self.compose(&destination)?
        } else {
            None
        };
        let Some((batch_id, deliveries)) = next else {
            return self.let_go(&destination).map(|()| None);
        };
        queries::hold(self.db, &destination, owner, at + LEASE)?;
        let (revision, sealed) = (destination.revision, sealed.to_owned());
        Ok(Some(Job {
            batch_id,
            project_id,
            revision,
            sealed,
            deliveries,
        }))
    }

    /// Ends what has run out, and tells of it; of what was never tried, why.
    fn give_up(&mut self, destination: &DestinationRow) -> QueryResult<()> {
        let at = self.now.naive_utc();
        let rests = destination.address().is_some() && destination.free_at > at;
        let untried = if rests { RESTS } else { NEVER_KNOWN };
        let mut expired: BTreeMap<String, Vec<DeliveryRow>> = BTreeMap::new();
        for row in queries::list_expired(self.db, destination.project_id, at, SLICE)? {
            let reason = row.reason.clone().unwrap_or_else(|| untried.to_owned());
            expired.entry(reason).or_default().push(row);
        }
        for (reason, rows) in expired {
            self.end(&rows, Ending::Failed, &reason)?;
        }
        Ok(())
    }

    /// The message whose turn it is, marked as being sent: one that was tried before as it was then, else
    /// what is due, joined into one.
    fn compose(
        &mut self,
        destination: &DestinationRow,
    ) -> QueryResult<Option<(String, Vec<DeliveryRow>)>> {
        let (project_id, at) = (destination.project_id, self.now.naive_utc());
        let ready = queries::list_ready(self.db, project_id, destination.revision, at, DIGEST)?;
        let Some(first) = ready.first() else {
            return Ok(None);
        };
        let (batch_id, mut rows) = match first.batch_id.clone() {
            Some(tried) => {
                let rows = queries::list_batch(self.db, project_id, &tried)?;
                (tried, rows)
            }
            None => compose_new(ready),
        };
        let Some(give_up_at) = rows.iter().map(|row| row.give_up_at).max() else {
            return Ok(None);
        };
        queries::compose(self.db, &batch_id, &ids(&rows), give_up_at)?;
        for row in &mut rows {
            row.attempts += 1;
            row.give_up_at = give_up_at;
        }
        Ok(Some((batch_id, rows)))
    }

    /// Lets a hook go until there is something to do for it again.
    pub(super) fn let_go(&mut self, destination: &DestinationRow) -> QueryResult<()> {
        let due = self.next_look(destination)?;
        queries::let_go(self.db, destination, due)
    }

    fn next_look(&mut self, destination: &DestinationRow) -> QueryResult<Option<NaiveDateTime>> {
        let (project_id, revision) = (destination.project_id, destination.revision);
        let (next_attempt, given_up) = queries::next_moments(self.db, project_id, revision)?;
        let attempt = next_attempt.map(|attempt| match destination.address() {
            Some(_) => attempt.max(destination.free_at),
            // More than a slice is to be skipped.
            None => self.now.naive_utc(),
        });
        Ok(attempt.into_iter().chain(given_up).min())
    }

    /// Writes down what came of a job and says how long the hook is to be left alone.
    pub(super) fn conclude(
        &mut self,
        destination: &mut DestinationRow,
        job: &Job,
        answer: &Answer,
    ) -> QueryResult<Duration> {
        let same_hook = destination.revision == job.revision && destination.address().is_some();
        let rows = &job.deliveries;
        match answer {
            Answer::Delivered => {
                destination.failures = 0;
                self.end(rows, Ending::Delivered, "")
                    .map(|()| Duration::ZERO)
            }
            Answer::Refused(reason) if rows.len() > 1 => {
                // One of them may be what the chat does not take; the others are to be told all the same.
                queries::part(self.db, &ids(rows), self.now.naive_utc(), reason)?;
                Ok(Duration::ZERO)
            }
            Answer::Refused(reason) => self
                .end(rows, Ending::Failed, reason)
                .map(|()| Duration::ZERO),
            Answer::Later {
                reason,
                wait,
                maybe_taken,
            } => {
                if *maybe_taken {
                    self.tally.possible_duplicates += u64::try_from(rows.len()).unwrap_or_default();
                }
                if !same_hook {
                    return self.try_successor(job, reason);
                }
                destination.failures += 1;
                let asked = wait.unwrap_or_default().min(LONGEST_WAIT);
                self.postpone(rows, asked, reason)?;
                Ok(asked.max(waits::partner_wait(destination.failures)))
            }
            Answer::Gone(reason) if !same_hook => self.try_successor(job, reason),
            Answer::Gone(reason) => {
                self.end(rows, Ending::Failed, reason)?;
                self.disable(destination, reason).map(|()| Duration::ZERO)
            }
        }
    }

    /// What a hook that was replaced meanwhile answered says nothing of the one in its place.
    fn try_successor(&mut self, job: &Job, reason: &str) -> QueryResult<Duration> {
        let now = self.now.naive_utc();
        queries::postpone(self.db, &ids(&job.deliveries), now, Some(reason))?;
        Ok(Duration::ZERO)
    }

    /// Tries a message again later, or gives it up when that would be too late.
    fn postpone(&mut self, rows: &[DeliveryRow], asked: Duration, reason: &str) -> QueryResult<()> {
        let attempts = rows.iter().map(|row| row.attempts).max().unwrap_or(1);
        let next = self.now.naive_utc() + asked.max(waits::message_wait(attempts));
        if rows.iter().any(|row| next >= row.give_up_at) {
            return self.end(rows, Ending::Failed, reason);
        }
        self.tally.retries += 1;
        queries::postpone(self.db, &ids(rows), next, Some(reason))
    }

    /// Switches a hook off and has its owner told.
    fn disable(&mut self, destination: &mut DestinationRow, reason: &str) -> QueryResult<()> {
        queries::disable(
            self.db,
            destination.project_id,
            reason,
            self.now.naive_utc(),
        )?;
        DISABLED.clone_into(&mut destination.state);
        destination.sealed = None;
        self.tally.disabled += 1;
        let event = IntegrationDisabled {
            project_id: destination.project_id,
            revision: destination.revision,
            reason: reason.to_owned(),
        };
        enqueue(self.db, SOURCE, self.now, None, &event)
    }

    /// Ends deliveries and tells of them, unless they had ended before.
    pub(super) fn end(
        &mut self,
        rows: &[DeliveryRow],
        ending: Ending,
        reason: &str,
    ) -> QueryResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (noted, at) = (
            Some(reason).filter(|reason| !reason.is_empty()),
            self.now.naive_utc(),
        );
        let settled = queries::settle(self.db, &ids(rows), ending, noted, at)?;
        let rows = rows.iter().filter(|row| settled.contains(&row.event_id));
        self.tell(&rows.collect::<Vec<_>>(), ending, reason)
    }

    /// Tells what became of deliveries of one project.
    pub(super) fn tell(
        &mut self,
        rows: &[&DeliveryRow],
        ending: Ending,
        reason: &str,
    ) -> QueryResult<()> {
        self.tally.ended.extend(rows.iter().map(|_| ending));
        outbox::insert_all(self.db, &words(rows, ending, reason, self.now)?)
    }
}

/// A new message of what is due: a digest, unless only one is. A test is a message of its own, and nothing is
/// told before what was due earlier.
fn compose_new(ready: Vec<DeliveryRow>) -> (String, Vec<DeliveryRow>) {
    let is_test = |row: &DeliveryRow| Kind::of(&row.kind) == Kind::Test;
    let alone = ready.first().is_some_and(is_test);
    let rows: Vec<DeliveryRow> = ready
        .into_iter()
        .enumerate()
        .take_while(|(n, row)| *n == 0 || !(alone || is_test(row) || row.batch_id.is_some()))
        .map(|(_, row)| row)
        .collect();
    let first = rows.first().map(|row| row.event_id.clone());
    let first = first.unwrap_or_default();
    let batch_id = match rows.len() {
        // Another id than that of the first by itself, which is told so when the digest is refused.
        several @ 2.. => format!("{first}.{several}"),
        _ => first,
    };
    (batch_id, rows)
}

fn ids(rows: &[DeliveryRow]) -> Vec<&str> {
    rows.iter().map(|row| row.event_id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, kind: Kind, batch_id: Option<&str>) -> DeliveryRow {
        DeliveryRow {
            event_id: id.to_owned(),
            session_id: String::new(),
            project_id: 1,
            request_id: None,
            payload: None,
            attempts: 0,
            give_up_at: DateTime::UNIX_EPOCH.naive_utc(),
            reason: None,
            kind: kind.name().to_owned(),
            batch_id: batch_id.map(str::to_owned),
        }
    }

    #[test]
    fn a_digest_joins_what_is_due_up_to_a_test_or_a_message_that_was_tried() {
        let (plan, end) = (
            |id| row(id, Kind::Plan, None),
            |id| row(id, Kind::Finished, None),
        );
        let composed = |ready| {
            let (batch_id, rows) = compose_new(ready);
            (batch_id, rows.len())
        };
        assert_eq!(composed(vec![plan("a")]), ("a".to_owned(), 1));
        assert_eq!(
            composed(vec![plan("a"), end("b"), plan("c")]),
            ("a.3".to_owned(), 3)
        );
        let test = || row("t", Kind::Test, None);
        assert_eq!(
            composed(vec![plan("a"), end("b"), test(), plan("c")]),
            ("a.2".to_owned(), 2)
        );
        assert_eq!(composed(vec![test(), plan("a")]), ("t".to_owned(), 1));
        let tried = row("b", Kind::Plan, Some("b"));
        assert_eq!(
            composed(vec![plan("a"), tried, plan("c")]),
            ("a".to_owned(), 1)
        );
    }
}
