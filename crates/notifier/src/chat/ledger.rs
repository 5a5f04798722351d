use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::{Broker, RelayHandle};
use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use service_kit::Clock;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use super::arrivals::Arrival;
use super::lane::{self, Lane, Receipts};
use super::model::{Answer, Job, NewDelivery, Outcome};
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
    lane: Lane,
    arriving: Arc<Together<Vec<Arrival>, ()>>,
    settling: Arc<Together<Outcome, Option<Job>>>,
    /// Changes of hooks' rows since they were swept.
    changes: Arc<AtomicUsize>,
}

impl Ledger {
    /// With a broker plans wait there until they are told: one that keeps them until it is told that it need not.
    pub(crate) fn new(
        pool: Pool,
        clock: Clock,
        config: ChatConfig,
        figures: Figures,
        relay: RelayHandle,
        broker: Option<Broker>,
    ) -> Self {
        Self {
            pool,
            clock,
            config,
            figures,
            relay,
            owner: Uuid::now_v7().to_string().into(),
            expected: Arc::default(),
            lane: Lane::new(broker),
            arriving: Arc::default(),
            settling: Arc::default(),
            changes: Arc::default(),
        }
    }

    /// Where plans are held until they are told.
    pub(crate) fn lane(&self) -> Lane {
        self.lane.clone()
    }

    /// Has what came told or written down; `wake` is told as soon as there is something to post.
    pub(super) async fn take_in(
        &self,
        arrivals: Vec<Arrival>,
        wake: &Notify,
    ) -> Result<(), DbError> {
        let (now, config) = (self.clock.now_naive(), self.config);
        let since = Instant::now();
        let (mut held, mut rest) = (Vec::new(), Vec::new());
        for arrival in arrivals {
            match self.lane.hold(&arrival, now, config) {
                Some(written) => held.push((arrival, written)),
                None => rest.push(arrival),
            }
        }
        if !held.is_empty() {
            wake.notify_one();
        }
        if !rest.is_empty() {
            self.write_in(rest).await?;
            wake.notify_one();
        }
        let left = lane::unwritten(since, held).await;
        if left.is_empty() {
            return Ok(());
        }
        self.lane.shut(left.iter().filter_map(Arrival::project));
        self.write_in(left).await?;
        wake.notify_one();
        Ok(())
    }

    /// Writes down what came, together with what others bring.
    pub(super) async fn write_in(&self, arrivals: Vec<Arrival>) -> Result<(), DbError> {
        let commit = |arrivals: Vec<Vec<Arrival>>| {
            let (now, config, each) = (self.clock.now(), self.config, vec![(); arrivals.len()]);
            let arrivals = arrivals.concat();
            async move {
                let done = self.write(now, move |moves| moves.take_in(arrivals, config));
                done.await.map(|()| each)
            }
        };
        self.arriving.commit(arrivals, commit).await
    }

    /// Whether something that is held is due, and nothing that is written down waits to be looked at: who takes it sees what
    /// else is due.
    pub(super) fn is_due(&self) -> bool {
        let now = self.clock.now_naive();
        self.lane.next_due().is_some_and(|due| due <= now) && self.expected().is_empty()
    }

    /// When there is something to do next; costs no write unless something has come.
    pub(super) async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let some_left = self.look_at_expected().await?;
        let due = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::next_due(db)?))
            .await?;
        let due = due.into_iter().chain(self.lane.next_due()).min();
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
        let mut jobs = self
            .write(now, move |moves| {
                let at = now.naive_utc();
                let due = queries::due_destinations(moves.db, at, limit)?;
                let mut due = moves.take_over(due)?;
                due.extend(moves.due_held(&due, limit)?);
                moves.proceed(due, &owner)
            })
            .await?;
        self.take_held(jobs.iter_mut());
        self.changed(jobs.len());
        Ok(jobs)
    }

    /// Has what these jobs tell of held no longer.
    fn take_held<'j>(&self, jobs: impl Iterator<Item = &'j mut Job>) {
        for job in jobs {
            let ids = job.unwritten.iter().map(|row| row.event_id.as_str());
            job.receipts = self.lane.take(job.project_id, ids);
        }
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
        let outcomes: Arc<[Outcome]> = outcomes.into();
        match (self.try_settle(Arc::clone(&outcomes)).await, &*outcomes) {
            (Err(error), [outcome]) if error.is_lasting() && !outcome.job.unwritten.is_empty() => {
                let mut outcome = outcome.clone();
                self.write_each(std::mem::take(&mut outcome.job.unwritten))
                    .await?;
                if outcome.answer != Answer::Delivered {
                    // Of what cannot be written the broker is to be told so.
                    outcome.job.receipts = Receipts::default();
                }
                self.try_settle([outcome].into()).await
            }
            (settled, _) => settled,
        }
    }

    /// Writes down by itself each of what was posted and cannot be written down together. What cannot be at all and was
    /// told, of that it is the end.
    async fn write_each(&self, rows: Vec<Arc<NewDelivery>>) -> Result<(), DbError> {
        for row in rows {
            let id = row.event_id.clone();
            let insert = move |moves: &mut Moves<'_>| {
                queries::insert_deliveries(moves.db, &[(*row).clone()])?;
                moves.release_ends(&[&row])
            };
            match self.write(self.clock.now(), insert).await {
                Err(error) if error.is_lasting() => {
                    log::error!("the event {id} was posted and cannot be written down: {error}");
                }
                other => other?,
            }
        }
        Ok(())
    }

    async fn try_settle(&self, outcomes: Arc<[Outcome]>) -> Result<Vec<Option<Job>>, DbError> {
        let (now, owner, interval) = (
            self.clock.now(),
            Arc::clone(&self.owner),
            self.config.interval(),
        );
        let projects: Vec<i64> = outcomes
            .iter()
            .map(|outcome| outcome.job.project_id)
            .collect();
        let receipts: Vec<Receipts> = outcomes
            .iter()
            .map(|outcome| outcome.job.receipts.clone())
            .collect();
        let mut next = self
            .write(now, move |moves| {
                moves.conclude(&outcomes, &owner, interval)
            })
            .await?;
        receipts.iter().for_each(Receipts::written);
        self.take_held(next.iter_mut());
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
        let lane = self.lane.clone();
        let (done, tally) = self
            .pool
            .write_tx::<_, DbError, _>(move |db| {
                let mut moves = Moves {
                    db,
                    tally: Tally::default(),
                    lane: &lane,
                    now,
                };
                Ok((work(&mut moves)?, moves.tally))
            })
            .await?;
        if !tally.ended.is_empty() {
            self.relay.wake();
        }
        self.lane.heed(&tally, now.naive_utc());
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

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
