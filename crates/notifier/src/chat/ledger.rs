use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::RelayHandle;
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use service_kit::Clock;
use uuid::Uuid;

use super::arrivals::Arrival;
use super::model::{Answer, Job, Outcome};
use super::moves::{Moves, Tally};
use super::queries;
use super::together::Together;
use crate::REMEMBER;
use crate::config::ChatConfig;
use crate::metrics::Figures;
use crate::scheduler::FORGOTTEN;

/// How soon a hook whose row was locked is asked for again.
const AGAIN: Duration = Duration::from_millis(10);

/// After so many changes of hooks' rows their earlier versions are swept out.
const CHANGES: usize = 2_000;

/// The notifications and hooks in the database, and the only rules that move them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledger {
    pool: Pool,
    clock: Clock,
    config: ChatConfig,
    figures: Figures,
    relay: RelayHandle,
    /// Who holds hooks: this process, in this run.
    owner: Arc<str>,
    /// Hooks for which something was committed that their holders may not have seen, with the first moment at which
    /// some of it is given up.
    expected: Arc<Mutex<BTreeMap<i64, NaiveDateTime>>>,
    settling: Arc<Together<Outcome, Option<Job>>>,
    /// Changes of hooks' rows since they were swept.
    changes: Arc<AtomicUsize>,
}

impl Ledger {
    pub(crate) fn new(
        pool: Pool,
        clock: Clock,
        config: ChatConfig,
        figures: Figures,
        relay: RelayHandle,
    ) -> Self {
        Self {
            pool,
            clock,
            config,
            figures,
            relay,
            owner: Uuid::now_v7().to_string().into(),
            expected: Arc::default(),
            settling: Arc::default(),
            changes: Arc::default(),
        }
    }

    /// Writes down what came.
    pub(super) async fn take_in(&self, arrivals: Vec<Arrival>) -> Result<(), DbError> {
        let config = self.config;
        self.write(self.clock.now(), move |moves| {
            moves.take_in(arrivals, config)
        })
        .await
    }

    /// When there is something to do next; costs no write unless something has come.
    pub(super) async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let some_left = self.look_at_expected().await?;
        let due = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::next_due(db)?))
            .await?;
        let due = due.map(|due| (due - self.clock.now_naive()).to_std().unwrap_or_default());
        Ok(due.into_iter().chain(some_left.then_some(AGAIN)).min())
    }

    /// Has the hooks looked at for which something has come; true when some of them could not be asked yet.
    async fn look_at_expected(&self) -> Result<bool, DbError> {
        let asked = std::mem::take(&mut *self.expected());
        let Some(give_up_at) = asked.values().min().copied() else {
            return Ok(false);
        };
        let (now, projects) = (self.clock.now_naive(), asked.keys().copied().collect());
        let look = move |db: &mut Db| {
            let projects: Vec<i64> = projects;
            Ok(queries::look(db, &projects, now, give_up_at)?)
        };
        let done = self.pool.write_tx::<_, DbError, _>(look).await;
        let left = match &done {
            Ok(done) => asked
                .into_iter()
                .filter(|(id, _)| !done.contains(id))
                .collect(),
            Err(_) => asked,
        };
        let some_left = !left.is_empty();
        self.expect(left);
        done.map(|_| some_left)
    }

    fn expect(&self, projects: BTreeMap<i64, NaiveDateTime>) {
        let mut expected = self.expected();
        for (project, give_up_at) in projects {
            let earliest = expected.entry(project).or_insert(give_up_at);
            *earliest = give_up_at.min(*earliest);
        }
    }

    fn expected(&self) -> MutexGuard<'_, BTreeMap<i64, NaiveDateTime>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up to `limit` hooks that are due, each with the message whose turn it is.
    pub(super) async fn lease(&self, limit: i64) -> Result<Vec<Job>, DbError> {
        let (now, owner) = (self.clock.now(), Arc::clone(&self.owner));
        let jobs = self
            .write(now, move |moves| {
                let at = now.naive_utc();
                let due = queries::due_destinations(moves.db, at, limit)?;
                moves.take_over(&due)?;
                moves.proceed(due, &owner)
            })
            .await?;
        self.changed(jobs.len());
        Ok(jobs)
    }

    /// Has hooks' rows swept now and then, beside everything else.
    fn changed(&self, rows: usize) {
        if self.changes.fetch_add(rows, Ordering::Relaxed) + rows < CHANGES {
            return;
        }
        self.changes.store(0, Ordering::Relaxed);
        let pool = self.pool.clone();
        tokio::spawn(async move {
            let swept = pool.read::<_, DbError, _>(|db| Ok(queries::sweep(db)?));
            if let Err(error) = swept.await {
                log::debug!("hooks' rows are not swept: {error}");
            }
        });
    }

    /// Writes down what came of a job, together with what came of others, and, with `keep`, gives the hook's next one,
    /// if it is its turn.
    pub(super) async fn settle(
        &self,
        job: &Job,
        answer: &Answer,
        keep: bool,
    ) -> Result<Option<Job>, DbError> {
        let told = *answer == Answer::Delivered;
        let outcome = Outcome {
            job: if told {
                job.without_words()
            } else {
                job.clone()
            },
            answer: answer.clone(),
            keep,
        };
        let commit = |outcomes| self.settle_all(outcomes);
        self.settling.commit(outcome, commit).await
    }

    /// The next job of each, in one transaction.
    async fn settle_all(&self, outcomes: Vec<Outcome>) -> Result<Vec<Option<Job>>, DbError> {
        let (owner, interval) = (Arc::clone(&self.owner), self.config.interval());
        let projects: Vec<i64> = outcomes
            .iter()
            .map(|outcome| outcome.job.project_id)
            .collect();
        let next = self
            .write(self.clock.now(), move |moves| {
                moves.conclude(&outcomes, &owner, interval)
            })
            .await?;
        self.changed(projects.len());
        let mut next: BTreeMap<i64, Job> =
            next.into_iter().map(|job| (job.project_id, job)).collect();
        Ok(projects
            .iter()
            .map(|project| next.remove(project))
            .collect())
    }

    /// Counts what waits and forgets some of what is long over.
    pub(super) async fn keep_house(&self) -> Result<(), DbError> {
        let open = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::count_open(db)?))
            .await?;
        self.figures.waiting.set(open);
        let now = self.clock.now_naive();
        if open > 0 {
            self.write(self.clock.now(), move |moves| {
                let missed = queries::release_missed(moves.db, now)?;
                moves.expect(&missed, now)?;
                queries::recover(moves.db, now)
            })
            .await?;
        }
        let until = self.clock.now_naive() - REMEMBER;
        self.write(self.clock.now(), move |moves| {
            queries::forget_settled_before(moves.db, until, FORGOTTEN)?;
            inbox::forget_before(moves.db, until, FORGOTTEN).map(drop)
        })
        .await
    }

    /// One transaction; what it did is counted, and its events are sent on their way, once it is committed.
    async fn write<T, F>(&self, now: DateTime<Utc>, work: F) -> Result<T, DbError>
    where
        F: FnOnce(&mut Moves<'_>) -> QueryResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (done, tally) = self
            .pool
            .write_tx::<_, DbError, _>(move |db| {
                let mut moves = Moves {
                    db,
                    tally: Tally::default(),
                    now,
                };
                Ok((work(&mut moves)?, moves.tally))
            })
            .await?;
        if !tally.ended.is_empty() {
            self.relay.wake();
        }
        self.expect(tally.expected);
        for ending in tally.ended {
            self.figures.settled(ending.name(), 1);
        }
        self.figures
            .possible_duplicates
            .inc_by(tally.possible_duplicates);
        self.figures.disabled.inc_by(tally.disabled);
        self.figures.retries.inc_by(tally.retries);
        Ok(done)
    }
}
