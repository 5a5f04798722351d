//! The scheduler's loop: leases the jobs that are due, runs them, and stores their outcomes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use db_kit::DbError;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::outage::{Outage, PendingOutcome};

/// How often the database is read even without a wake-up, because another process may have left work.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// How long a poll is delayed after the previous one, so that destinations that become due in between are leased together.
const COALESCE: Duration = Duration::from_millis(20);

/// How long to wait when due work could not be leased.
const LOCKED_POLL: Duration = Duration::from_millis(10);

/// How often to poll while nothing may be leased because outcomes wait for the database.
const BLOCKED_POLL: Duration = Duration::from_millis(100);

/// How often waiting deliveries are counted.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// The maximum number of jobs leased in one transaction.
const MAX_LEASED: usize = 32;

/// The maximum number of attempts to store an outcome that the database will never accept. After that, the job runs again
/// when its lease has expired, and is counted as a possible duplicate.
const MAX_PERMANENT_FAILURES: u32 = 7;

/// How often a warning is logged that an outcome is still not stored.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The timeouts and intervals; tests use shorter ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchedulerTimings {
    /// The longest wait between two attempts to store an outcome.
    write: Duration,
    /// How long the database may take to store an outcome. Together with the ten seconds of a call, this is shorter than any lease.
    answer: Duration,
    /// How long storing an outcome may fail while the database answers other queries, for example because of a lock
    /// or a full disk. After that, the outcome is given up as with [`MAX_PERMANENT_FAILURES`], so that the other jobs need
    /// not wait any longer.
    refused: Duration,
    /// How long a stopping process tries to store outcomes.
    stop: Duration,
    /// The length of an outage after which leases may have expired although their owners know the outcome.
    pub(crate) outage: Duration,
    /// How long after an outage those owners have to store it.
    pub(crate) grace: Duration,
}

const TIMINGS: SchedulerTimings = SchedulerTimings {
    write: Duration::from_secs(1),
    answer: Duration::from_secs(15),
    refused: Duration::from_secs(600),
    stop: Duration::from_secs(15),
    outage: Duration::from_secs(10),
    grace: Duration::from_secs(5),
};

/// Work that is stored in rows. Cheap to clone.
pub(crate) trait JobQueue: Clone + Send + Sync + 'static {
    /// One unit of work, leased to this process.
    type Job: Send + Sync + 'static;
    /// The outcome of a job.
    type Outcome: Send + Sync;
    /// What consecutive jobs share.
    type Connection: Default + Send;

    /// The name of the jobs in logs.
    const NAME: &'static str;

    /// Returns how many more jobs may start in addition to the `running` ones.
    fn capacity(&self, running: usize) -> usize;

    /// Returns the time until something is due; none when nothing waits. It does not write.
    fn next_due(&self) -> impl Future<Output = Result<Option<Duration>, DbError>> + Send;

    /// Leases up to `limit` due jobs.
    fn lease(&self, limit: i64) -> impl Future<Output = Result<Vec<Self::Job>, DbError>> + Send;

    /// Runs a job, within its lease. When the process stops, it ends early if that is safe.
    fn run(
        &self,
        connection: &mut Self::Connection,
        job: &Self::Job,
        stopping: &ShutdownSignal,
    ) -> impl Future<Output = Self::Outcome> + Send;

    /// Stores the outcome of a job.
    fn record(
        &self,
        job: &Self::Job,
        outcome: &Self::Outcome,
    ) -> impl Future<Output = Result<(), DbError>> + Send;

    /// Whether the next job uses the same connection.
    fn keeps_connection(&self) -> bool;

    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// Counts waiting deliveries, and deletes old rows.
    fn housekeep(&self) -> impl Future<Output = Result<(), DbError>> + Send;
}

#[derive(Debug)]
pub(crate) struct Scheduler {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Scheduler {
    /// Starts the scheduler. `wake` is signalled when there is something to do.
    pub(crate) fn spawn(work: impl JobQueue, wake: Arc<Notify>) -> Self {
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            work,
            stopping: ShutdownSignal(stopping),
            timings: TIMINGS,
            outage: Arc::default(),
        };
        let task = tokio::spawn(worker.run(wake));
        Self { stop, task }
    }

    /// Leases nothing more, and waits for the jobs in progress.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        // The task ends by itself. It fails only when the runtime shuts down.
        let _ = self.task.await;
    }
}

/// The signal that the process is to stop.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the process is to stop.
    pub(crate) async fn wait(&self) {
        // An error means that the handle is gone.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }
}

#[derive(Clone)]
struct Worker<W> {
    work: W,
    stopping: ShutdownSignal,
    timings: SchedulerTimings,
    outage: Arc<Outage>,
}

impl<W: JobQueue> Worker<W> {
    async fn run(self, wake: Arc<Notify>) {
        let mut running = JoinSet::new();
        // Also at once, to find the work that a crashed process has left.
        let mut housekeeping = interval(COUNT_EVERY);
        housekeeping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut poll_at, mut coalesce_until) = (Instant::now(), Instant::now());
        loop {
            let capacity = self.work.capacity(running.len());
            if capacity > 0 && Instant::now() >= self.outage.not_before(poll_at) {
                coalesce_until = Instant::now() + COALESCE;
                poll_at = Instant::now() + self.poll(capacity, &mut running).await;
            }
            let capacity = self.work.capacity(running.len()) > 0;
            tokio::select! {
                biased;
                () = self.stopping.wait() => break,
                _ = housekeeping.tick() => self.housekeep().await,
                Some(_) = running.join_next(), if !running.is_empty() => {
                    while running.try_join_next().is_some() {}
                    poll_at = poll_at.min(coalesce_until);
                }
                () = wake.notified() => poll_at = poll_at.min(coalesce_until),
                () = sleep_until(self.outage.not_before(poll_at)), if capacity => {}
            }
        }
        while running.join_next().await.is_some() {}
    }

    /// Leases due work and returns the wait before the next poll.
    async fn poll(&self, capacity: usize, running: &mut JoinSet<()>) -> Duration {
        let limit = i64::try_from(capacity.min(MAX_LEASED)).unwrap_or(i64::MAX);
        let began = Instant::now();
        let polled = async {
            // This query detects the end of an outage.
            let due = self.work.next_due().await?;
            self.outage.record_answer(self.timings);
            if self.outage.blocks_leasing() {
                return Ok(Err(Some(BLOCKED_POLL)));
            }
            match due {
                Some(Duration::ZERO) => {
                    let jobs = self.work.lease(limit).await?;
                    self.outage.record_answer(self.timings);
                    Ok(Ok(jobs))
                }
                other => Ok(Err(other)),
            }
        };
        let polled: Result<_, DbError> = polled.await;
        if polled.is_err() {
            self.outage.record_failure(began);
        }
        match polled {
            // Locked by another process, or released. The row has the next due time, and is read again soon.
            Ok(Ok(jobs)) if jobs.is_empty() => LOCKED_POLL,
            Ok(Ok(jobs)) => {
                let full = jobs.len() >= capacity.min(MAX_LEASED);
                for job in jobs {
                    running.spawn(self.clone().run_jobs(job));
                }
                if full { Duration::ZERO } else { COALESCE }
            }
            Ok(Err(due)) => due.unwrap_or(POLL_EVERY).min(POLL_EVERY),
            Err(error) => {
                log::warn!("{} are delayed by the database: {error}", W::NAME);
                POLL_EVERY
            }
        }
    }

    /// Runs a job, and further ones for as long as they share its connection.
    async fn run_jobs(self, first: W::Job) {
        let mut connection = W::Connection::default();
        let mut next = Some(first);
        while let Some(job) = next {
            let outcome = self.work.run(&mut connection, &job, &self.stopping).await;
            self.store_outcome(&job, &outcome).await;
            next = self.next().await;
        }
        self.work.close(connection).await;
    }

    /// Leases the next job for the same connection, unless outcomes are waiting to be stored: it may be one of their jobs.
    async fn next(&self) -> Option<W::Job> {
        if self.stopping.is_set() || self.outage.blocks_leasing() || !self.work.keeps_connection() {
            return None;
        }
        self.work.lease(1).await.ok()?.pop()
    }

    /// Retries for as long as the database is unavailable. Only this process knows the outcome, and another one would
    /// repeat the job.
    async fn store_outcome(&self, job: &W::Job, outcome: &W::Outcome) {
        let (mut backoff, mut permanent_failures) = (self.timings.write / 16, 0);
        let (mut pending, mut refused_at, mut stop_at, mut warned_at) = (None, None, None, None);
        loop {
            let began = Instant::now();
            let mut answer_timeout = self.timings.answer;
            if self.stopping.is_set() {
                let stop_at = *stop_at.get_or_insert(began);
                let remaining = self.timings.stop.saturating_sub(began - stop_at);
                if remaining.is_zero() {
                    return;
                }
                answer_timeout = answer_timeout.min(remaining);
            }
            let recording = self.work.record(job, outcome);
            let error = match timeout(answer_timeout, recording).await {
                Ok(Ok(())) => return self.outage.record_answer(self.timings),
                Ok(Err(error)) => error,
                Err(_) => DbError::Unreachable("no answer in time".to_owned()),
            };
            if warned_at.is_none_or(|at: Instant| at.elapsed() >= WARN_EVERY) {
                warned_at = Some(began);
                let name = W::NAME;
                log::warn!("the outcome of one of the {name} is not stored yet: {error}");
            }
            if error.is_lasting() {
                permanent_failures += 1;
                if permanent_failures >= MAX_PERMANENT_FAILURES {
                    return;
                }
            } else {
                pending.get_or_insert_with(|| PendingOutcome::new(&self.outage));
                let is_answering =
                    matches!(error, DbError::Query(_)) || self.outage.has_answered_since(began);
                if !is_answering {
                    refused_at = None;
                } else if refused_at.get_or_insert(began).elapsed() >= self.timings.refused {
                    return;
                }
                self.outage.record_failure(began);
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(self.timings.write);
        }
    }

    async fn housekeep(&self) {
        if let Err(error) = self.work.housekeep().await {
            log::debug!("housekeeping of the {} failed: {error}", W::NAME);
        }
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
