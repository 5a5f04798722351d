use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::Db;
use db_kit::outbox::enqueue;
use diesel::QueryResult;
use event_types::{
    IntegrationDisabled, NotificationDelivered, NotificationFailed, NotificationSkipped,
};

use super::model::{Answer, DISABLED, DeliveryRow, DestinationRow, Ending, Job};
use super::queries;
use crate::{SOURCE, waits};

/// How long a hook is held without a word: a send takes ten seconds at most.
const LEASE: Duration = Duration::from_secs(30);

/// How many deliveries of a hook are ended in one transaction.
const SLICE: i64 = 100;

/// Beyond this a date would overflow; whoever asks for more is given up long before.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3_600);

pub(super) const NO_CHAT: &str = "The project has no chat";

/// What a transaction did, for figures and wakes once it is committed.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) ended: Vec<Ending>,
    pub(super) possible_duplicates: u64,
    pub(super) disabled: u64,
    pub(super) retries: u64,
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
        for row in queries::list_expired(self.db, project_id, at, SLICE)? {
            let never_known = || "The project's chat settings did not arrive".to_owned();
            let reason = row.reason.clone().unwrap_or_else(never_known);
            self.end(&row, Ending::Failed, &reason)?;
        }
        let Some(sealed) = destination.address() else {
            let off = destination.state == DISABLED;
            let reason = if off {
                "The project's chat is switched off"
            } else {
                NO_CHAT
            };
            for row in queries::list_open(self.db, project_id, destination.revision, SLICE)? {
                self.end(&row, Ending::Skipped, reason)?;
            }
            return self.let_go(&destination).map(|()| None);
        };
        let next = if destination.free_at <= at {
            queries::find_next(self.db, project_id, destination.revision, at)?
        } else {
            None
        };
        let Some(mut delivery) = next else {
            return self.let_go(&destination).map(|()| None);
        };
        queries::start_sending(self.db, &delivery.event_id)?;
        queries::hold(self.db, &destination, owner, at + LEASE)?;
        delivery.attempts += 1;
        let (revision, sealed) = (destination.revision, sealed.to_owned());
        Ok(Some(Job {
            project_id,
            revision,
            sealed,
            delivery,
        }))
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
        match answer {
            Answer::Delivered => {
                destination.failures = 0;
                self.end(&job.delivery, Ending::Delivered, "")
                    .map(|()| Duration::ZERO)
            }
            Answer::Refused(reason) => self
                .end(&job.delivery, Ending::Failed, reason)
                .map(|()| Duration::ZERO),
            Answer::Later {
                reason,
                wait,
                maybe_taken,
            } => {
                self.tally.possible_duplicates += u64::from(*maybe_taken);
                if !same_hook {
                    return self.try_successor(job, reason);
                }
                destination.failures += 1;
                let asked = wait.unwrap_or_default().min(LONGEST_WAIT);
                self.postpone(&job.delivery, asked, reason)?;
                Ok(asked.max(waits::partner_wait(destination.failures)))
            }
            Answer::Gone(reason) if !same_hook => self.try_successor(job, reason),
            Answer::Gone(reason) => {
                self.end(&job.delivery, Ending::Failed, reason)?;
                self.disable(destination, reason).map(|()| Duration::ZERO)
            }
        }
    }

    /// What a hook that was replaced meanwhile answered says nothing of the one in its place.
    fn try_successor(&mut self, job: &Job, reason: &str) -> QueryResult<Duration> {
        queries::postpone(
            self.db,
            &job.delivery.event_id,
            self.now.naive_utc(),
            Some(reason),
        )?;
        Ok(Duration::ZERO)
    }

    /// Tries a message again later, or gives it up when that would be too late.
    fn postpone(&mut self, row: &DeliveryRow, asked: Duration, reason: &str) -> QueryResult<()> {
        let next = self.now.naive_utc() + asked.max(waits::message_wait(row.attempts));
        if next >= row.give_up_at {
            return self.end(row, Ending::Failed, reason);
        }
        self.tally.retries += 1;
        queries::postpone(self.db, &row.event_id, next, Some(reason))
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

    /// Ends a delivery and tells of it, unless it had ended before.
    pub(super) fn end(
        &mut self,
        row: &DeliveryRow,
        ending: Ending,
        reason: &str,
    ) -> QueryResult<()> {
        let noted = Some(reason).filter(|reason| !reason.is_empty());
        if !queries::settle(self.db, &row.event_id, ending, noted, self.now.naive_utc())? {
            return Ok(());
        }
        self.tally.ended.push(ending);
        let (Ok(event_id), Ok(session_id)) = (row.event_id.parse(), row.session_id.parse()) else {
            // Never: written by us as ids.
            return Ok(());
        };
        let (project_id, at) = (Some(row.project_id), self.now);
        let (request_id, reason) = (row.request_id.clone(), reason.to_owned());
        match ending {
            Ending::Delivered => {
                let event = NotificationDelivered {
                    event_id,
                    session_id,
                    project_id,
                    at,
                };
                enqueue(self.db, SOURCE, at, request_id, &event)
            }
            Ending::Failed => {
                let event = NotificationFailed {
                    event_id,
                    session_id,
                    project_id,
                    at,
                    reason,
                };
                enqueue(self.db, SOURCE, at, request_id, &event)
            }
            Ending::Skipped => {
                let event = NotificationSkipped {
                    event_id,
                    session_id,
                    project_id,
                    at,
                    reason,
                };
                enqueue(self.db, SOURCE, at, request_id, &event)
            }
        }
    }
}
