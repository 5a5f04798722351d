use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::Db;
use db_kit::outbox::enqueue;
use diesel::QueryResult;
use event_types::IntegrationDisabled;

use super::digest::compose_new;
use super::model::{Answer, DISABLED, DeliveryRow, DestinationRow, Ending, Job, Outcome, Placed};
use super::queries;
use crate::{SOURCE, waits};

/// How long a hook is held without a word: a send takes ten seconds at most.
const LEASE: Duration = Duration::from_secs(30);

/// How many deliveries of a hook are ended in one transaction.
const SLICE: i64 = 100;

/// How many notifications one message tells of at most. Twenty lines of the usual length fit into every
/// chat's limit, and nobody reads more.
pub(super) const DIGEST: usize = 20;

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
    pub(super) tally: Tally,
    pub(super) now: DateTime<Utc>,
}

impl Moves<'_> {
    /// Ends what needs no sending, then holds each of these hooks for the message whose turn it is, or lets it go.
    pub(super) fn proceed(
        &mut self,
        destinations: Vec<DestinationRow>,
        owner: &str,
    ) -> QueryResult<Vec<Job>> {
        let at = self.now.naive_utc();
        self.give_up(&destinations)?;
        for destination in destinations.iter().filter(|hook| hook.address().is_none()) {
            self.skip(destination)?;
        }
        let callable = |hook: &&DestinationRow| hook.address().is_some() && hook.free_at <= at;
        let callable: Vec<&DestinationRow> = destinations.iter().filter(callable).collect();
        let jobs = self.compose(&callable)?;
        let (mut held, mut idle) = (Vec::new(), Vec::new());
        for destination in destinations {
            match jobs.get(&destination.project_id) {
                Some(job) => held.push(Placed {
                    destination,
                    lease_owner: Some(owner.to_owned()),
                    due_at: Some(job.held_until),
                    sending: Some(job.sending()),
                }),
                None => idle.push(destination),
            }
        }
        self.let_go(idle, held)?;
        Ok(jobs.into_values().collect())
    }

    /// Ends what waits for a hook that is not there, some of it at a time.
    fn skip(&mut self, destination: &DestinationRow) -> QueryResult<()> {
        let off = destination.state == DISABLED;
        let reason = if off {
            "The project's chat is switched off"
        } else {
            NO_CHAT
        };
        let (project_id, revision) = (destination.project_id, destination.revision);
        let open = queries::list_open(self.db, project_id, revision, SLICE)?;
        self.end(open.iter(), 0, Ending::Skipped, reason)
    }

    /// Ends what has run out, and tells of it; of what was never tried, why.
    fn give_up(&mut self, destinations: &[DestinationRow]) -> QueryResult<()> {
        let at = self.now.naive_utc();
        let rests = |hook: &&DestinationRow| hook.address().is_some() && hook.free_at > at;
        let resting = destinations
            .iter()
            .filter(rests)
            .map(|hook| hook.project_id);
        let resting: BTreeSet<i64> = resting.collect();
        let projects: Vec<i64> = destinations.iter().map(|hook| hook.project_id).collect();
        let mut expired: BTreeMap<String, Vec<DeliveryRow>> = BTreeMap::new();
        for row in queries::list_expired(self.db, &projects, at, SLICE)? {
            let untried = if resting.contains(&row.project_id) {
                RESTS
            } else {
                NEVER_KNOWN
            };
            let reason = row.reason.clone().unwrap_or_else(|| untried.to_owned());
            expired.entry(reason).or_default().push(row);
        }
        for (reason, rows) in expired {
            self.end(rows.iter(), 0, Ending::Failed, &reason)?;
        }
        Ok(())
    }

    /// The message of each hook whose turn it is: one that was tried before as it was then, else what is due, joined into one.
    fn compose(&mut self, hooks: &[&DestinationRow]) -> QueryResult<BTreeMap<i64, Job>> {
        let at = self.now.naive_utc();
        let mut jobs = BTreeMap::new();
        if hooks.is_empty() {
            return Ok(jobs);
        }
        let mut ready: BTreeMap<i64, Vec<DeliveryRow>> = BTreeMap::new();
        let most = i64::try_from(DIGEST).unwrap_or(i64::MAX);
        for row in queries::list_ready(self.db, hooks, at, most)? {
            ready.entry(row.project_id).or_default().push(row);
        }
        for hook in hooks {
            let ready = ready.remove(&hook.project_id).unwrap_or_default();
            let tried = ready.first().and_then(|first| first.batch_id.clone());
            let (batch_id, deliveries) = match tried {
                Some(tried) => {
                    let rows = queries::list_batch(self.db, hook.project_id, &tried)?;
                    (tried, rows)
                }
                None => compose_new(ready),
            };
            let give_up_at = deliveries.iter().map(|row| row.give_up_at).max();
            let (Some(sealed), Some(give_up_at)) = (hook.address(), give_up_at) else {
                continue;
            };
            let job = Job {
                batch_id,
                project_id: hook.project_id,
                revision: hook.revision,
                sealed: sealed.to_owned(),
                deliveries,
                give_up_at,
                held_until: at + LEASE,
            };
            jobs.insert(hook.project_id, job);
        }
        Ok(jobs)
    }

    /// Lets the `idle` hooks go until there is something to do for them again, and places those that are `held`.
    fn let_go(&mut self, idle: Vec<DestinationRow>, held: Vec<Placed>) -> QueryResult<()> {
        let mut placed = held;
        if !idle.is_empty() {
            let projects: Vec<i64> = idle.iter().map(|hook| hook.project_id).collect();
            let moments = queries::next_moments(self.db, &projects)?;
            let moments: BTreeMap<i64, _> = moments
                .into_iter()
                .map(|(project, attempt, given_up)| (project, (attempt, given_up)))
                .collect();
            for destination in idle {
                let moments = moments.get(&destination.project_id).copied();
                let (attempt, given_up) = moments.unwrap_or_default();
                let attempt = attempt.map(|attempt| match destination.address() {
                    Some(_) => attempt.max(destination.free_at),
                    // More than a slice is to be skipped.
                    None => self.now.naive_utc(),
                });
                placed.push(Placed {
                    destination,
                    lease_owner: None,
                    due_at: attempt.into_iter().chain(given_up).min(),
                    sending: None,
                });
            }
        }
        queries::place(self.db, &placed)
    }

    /// Writes down what came of jobs, lets their hooks go for `interval` or as long as they ask for, and gives the next
    /// jobs of those whose turn it is. A hook whose lease ran out is left to whoever has it now, with what is not told.
    pub(super) fn conclude(
        &mut self,
        outcomes: &[Outcome],
        owner: &str,
        interval: Duration,
    ) -> QueryResult<Vec<Job>> {
        let at = self.now.naive_utc();
        let projects = outcomes.iter().map(|outcome| outcome.job.project_id);
        let hooks = queries::lock_destinations(self.db, &projects.collect())?;
        let by_project = |hook: DestinationRow| (hook.project_id, hook);
        let mut hooks: BTreeMap<i64, DestinationRow> = hooks.into_iter().map(by_project).collect();
        self.record(outcomes)?;
        let (mut ours, mut kept, mut paced) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for outcome in outcomes {
            let held = |hook: &&mut DestinationRow| {
                hook.lease_owner.as_deref() == Some(owner)
                    && hook.due_at == Some(outcome.job.held_until)
            };
            let Some(hook) = hooks.get_mut(&outcome.job.project_id).filter(held) else {
                continue;
            };
            ours.insert(hook.project_id);
            hook.free_at = match &outcome.answer {
                Answer::NotYet(turn) if hook.revision == outcome.job.revision => *turn,
                answer => {
                    let wait = self.take_answer(hook, &outcome.job, answer)?;
                    hook.free_at.max(at + wait.max(interval))
                }
            };
            if outcome.keep {
                kept.insert(hook.project_id);
            }
            let rests = hook.free_at <= at + interval && hook.address().is_some();
            if outcome.answer == Answer::Delivered && rests {
                paced.insert(hook.project_id);
            }
        }
        let ours = hooks
            .into_values()
            .filter(|hook| ours.contains(&hook.project_id));
        let (next, idle): (Vec<_>, Vec<_>) = ours.partition(|hook| {
            let wanted = kept.contains(&hook.project_id);
            wanted && (hook.free_at <= at || hook.address().is_none())
        });
        // What waits for a hook that takes messages is looked at when its turn comes, and not now too: under load there is
        // always more.
        let (paced, idle): (Vec<_>, Vec<_>) = idle
            .into_iter()
            .partition(|hook| paced.contains(&hook.project_id));
        let placed = paced.into_iter().map(|destination| Placed {
            lease_owner: None,
            due_at: Some(destination.free_at),
            sending: None,
            destination,
        });
        self.let_go(idle, placed.collect())?;
        self.proceed(next, owner)
    }

    /// Writes down what came of a job, unless it was delivered, and says how long the hook is to be left alone.
    fn take_answer(
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
                Ok(Duration::ZERO)
            }
            // Nobody called it; whatever stands in its place may be called at once.
            Answer::NotYet(_) => Ok(Duration::ZERO),
            Answer::Refused(reason) if rows.len() > 1 => {
                // One of them may be what the chat does not take; the others are to be told all the same.
                queries::part(self.db, &job.event_ids(), self.now.naive_utc(), reason)?;
                Ok(Duration::ZERO)
            }
            Answer::Refused(reason) => self
                .end(rows.iter(), 1, Ending::Failed, reason)
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
                self.postpone(job, asked, reason)?;
                Ok(asked.max(waits::partner_wait(destination.failures)))
            }
            Answer::Gone(reason) if !same_hook => self.try_successor(job, reason),
            Answer::Gone(reason) => {
                self.end(rows.iter(), 1, Ending::Failed, reason)?;
                self.disable(destination, reason).map(|()| Duration::ZERO)
            }
        }
    }

    /// What a hook that was replaced meanwhile answered says nothing of the one in its place.
    fn try_successor(&mut self, job: &Job, reason: &str) -> QueryResult<Duration> {
        let now = self.now.naive_utc();
        queries::postpone(self.db, job, now, Some(reason))?;
        Ok(Duration::ZERO)
    }

    /// Tries a message again later, or gives it up when that would be too late.
    fn postpone(&mut self, job: &Job, asked: Duration, reason: &str) -> QueryResult<()> {
        let before = job.deliveries.iter().map(|row| row.attempts).max();
        let wait = waits::message_wait(before.unwrap_or_default() + 1);
        let next = self.now.naive_utc() + asked.max(wait);
        if next >= job.give_up_at {
            return self.end(job.deliveries.iter(), 1, Ending::Failed, reason);
        }
        self.tally.retries += 1;
        queries::postpone(self.db, job, next, Some(reason))
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
}
