//! The loop: leases what is due, does it, and stores the outcome.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use db_kit::DbError;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::outage::{Outage, Unwritten};

/// How often the database is read without a wake, because another process may have left work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The longest delay of a look after the one before, so that destinations that become due meanwhile are leased together.
const GATHER: Duration = Duration::from_millis(20);

/// How long to wait when due work could not be leased.
const LOCKED: Duration = Duration::from_millis(10);

/// How often to look while nothing may be leased because outcomes wait for the database.
const HELD: Duration = Duration::from_millis(100);

/// How often waiting deliveries are counted.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// The most jobs that are leased in one transaction.
const AT_A_TIME: usize = 32;

/// The most attempts to store an outcome that the database will never accept. After them, the job is done again when
/// its lease has expired, and counted as a possible duplicate.
const LASTING_TRIES: u32 = 7;

/// How often a warning says that an outcome is still not stored.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The timeouts and intervals; tests use shorter ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchedulerTimings {
    /// The longest wait between two attempts to store an outcome.
    write: Duration,
    /// How long the database may take to store an outcome. With the ten seconds of a call, it is shorter than any lease.
    answer: Duration,
    /// How long storing an outcome may fail while the database answers other queries, for example because of a lock
    /// or a full disk. After that the job is done again, as above, so that the others do not wait longer.
    refused: Duration,
    /// How long a stopping process tries to store outcomes.
    stop: Duration,
    /// The length of an outage after which leases may have expired whose owners know the outcome.
    pub(crate) outage: Duration,
    /// How long after an outage those owners have to store it.
    pub(crate) grace: Duration,
}

const PACE: SchedulerTimings = SchedulerTimings {
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
    type Answer: Send + Sync;
    /// What consecutive jobs share.
    type Connection: Default + Send;

    /// The name of the jobs in logs.
    const NAME: &'static str;

    /// Returns how many more jobs may start while `busy` are running.
    fn room(&self, busy: usize) -> usize;

    /// Returns the time until something is due; none when nothing waits. It does not write.
    fn next_due(&self) -> impl Future<Output = Result<Option<Duration>, DbError>> + Send;

    /// Leases up to `limit` due jobs.
    fn lease(&self, limit: i64) -> impl Future<Output = Result<Vec<Self::Job>, DbError>> + Send;

    /// Does a job, within its lease. When the process stops, it ends early if that is safe.
    fn act(
        &self,
        connection: &mut Self::Connection,
        job: &Self::Job,
        stopping: &ShutdownSignal,
    ) -> impl Future<Output = Self::Answer> + Send;

    /// Stores the outcome of a job.
    fn settle(
        &self,
        job: &Self::Job,
        answer: &Self::Answer,
    ) -> impl Future<Output = Result<(), DbError>> + Send;

    /// Whether the next job uses the same connection.
    fn keeps_connection(&self) -> bool;

    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// Counts waiting deliveries, and deletes old rows.
    fn keep_house(&self) -> impl Future<Output = Result<(), DbError>> + Send;
}

#[derive(Debug)]
pub(crate) struct Scheduler {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Scheduler {
    /// Starts to work. `wake` is signalled when there is something to do.
    pub(crate) fn spawn(work: impl JobQueue, wake: Arc<Notify>) -> Self {
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            work,
            stopping: ShutdownSignal(stopping),
            pace: PACE,
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
    pace: SchedulerTimings,
    outage: Arc<Outage>,
}

impl<W: JobQueue> Worker<W> {
    async fn run(self, wake: Arc<Notify>) {
        let mut runs = JoinSet::new();
        // Also at once, to find the work that a crashed process has left.
        let mut housekeeping = interval(COUNT_EVERY);
        housekeeping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut look_at, mut gathered_at) = (Instant::now(), Instant::now());
        loop {
            let room = self.work.room(runs.len());
            if room > 0 && Instant::now() >= self.outage.not_before(look_at) {
                gathered_at = Instant::now() + GATHER;
                look_at = Instant::now() + self.look(room, &mut runs).await;
            }
            let room = self.work.room(runs.len()) > 0;
            tokio::select! {
                biased;
                () = self.stopping.wait() => break,
                _ = housekeeping.tick() => self.keep_house().await,
                Some(_) = runs.join_next(), if !runs.is_empty() => {
                    while runs.try_join_next().is_some() {}
                    look_at = look_at.min(gathered_at);
                }
                () = wake.notified() => look_at = look_at.min(gathered_at),
                () = sleep_until(self.outage.not_before(look_at)), if room => {}
            }
        }
        while runs.join_next().await.is_some() {}
        // Due work that was not leased waits for the next process.
        if let Ok(Err(error)) = timeout(LOOK_EVERY, self.work.next_due()).await {
            log::debug!("the {} that are due were not released: {error}", W::NAME);
        }
    }

    /// Leases due work and returns the wait before the next look.
    async fn look(&self, room: usize, runs: &mut JoinSet<()>) -> Duration {
        let limit = i64::try_from(room.min(AT_A_TIME)).unwrap_or(i64::MAX);
        let began = Instant::now();
        let looked = async {
            // This query detects the end of an outage.
            let due = self.work.next_due().await?;
            self.outage.answered(self.pace);
            if self.outage.holds() {
                return Ok(Err(Some(HELD)));
            }
            match due {
                Some(Duration::ZERO) => {
                    let jobs = self.work.lease(limit).await?;
                    self.outage.answered(self.pace);
                    Ok(Ok(jobs))
                }
                other => Ok(Err(other)),
            }
        };
        let looked: Result<_, DbError> = looked.await;
        if looked.is_err() {
            self.outage.failed(began);
        }
        match looked {
            // Locked by another process, or released. The row has the next due time, and is read again soon.
            Ok(Ok(jobs)) if jobs.is_empty() => LOCKED,
            Ok(Ok(jobs)) => {
                let some_left = jobs.len() >= room.min(AT_A_TIME);
                for job in jobs {
                    runs.spawn(self.clone().work_off(job));
                }
                if some_left { Duration::ZERO } else { GATHER }
            }
            Ok(Err(due)) => due.unwrap_or(LOOK_EVERY).min(LOOK_EVERY),
            Err(error) => {
                log::warn!("{} are delayed by the database: {error}", W::NAME);
                LOOK_EVERY
            }
        }
    }

    /// Does a job, and further ones for as long as they share its connection.
    async fn work_off(self, first: W::Job) {
        let mut connection = W::Connection::default();
        let mut next = Some(first);
        while let Some(job) = next {
            let answer = self.work.act(&mut connection, &job, &self.stopping).await;
            self.write_down(&job, &answer).await;
            next = self.next().await;
        }
        self.work.close(connection).await;
    }

    /// Leases the next job for the same connection, unless outcomes wait: it may be one of theirs.
    async fn next(&self) -> Option<W::Job> {
        if self.stopping.is_set() || self.outage.holds() || !self.work.keeps_connection() {
            return None;
        }
        self.work.lease(1).await.ok()?.pop()
    }

    /// Retries for as long as the database is unavailable. Only this process knows the outcome, and another one would
    /// repeat the job.
    async fn write_down(&self, job: &W::Job, answer: &W::Answer) {
        let (mut pause, mut lasting) = (self.pace.write / 16, 0);
        let (mut waits, mut refused, mut stops, mut warned) = (None, None, None, None);
        loop {
            let began = Instant::now();
            let mut patience = self.pace.answer;
            if self.stopping.is_set() {
                let stops = *stops.get_or_insert(began);
                let rest = self.pace.stop.saturating_sub(began - stops);
                if rest.is_zero() {
                    return;
                }
                patience = patience.min(rest);
            }
            let settling = self.work.settle(job, answer);
            let error = match timeout(patience, settling).await {
                Ok(Ok(())) => return self.outage.answered(self.pace),
                Ok(Err(error)) => error,
                Err(_) => DbError::Unreachable("no answer in time".to_owned()),
            };
            if warned.is_none_or(|at: Instant| at.elapsed() >= WARN_EVERY) {
                warned = Some(began);
                let name = W::NAME;
                log::warn!("the outcome of one of the {name} is not stored yet: {error}");
            }
            if error.is_lasting() {
                lasting += 1;
                if lasting >= LASTING_TRIES {
                    return;
                }
            } else {
                waits.get_or_insert_with(|| Unwritten::new(&self.outage));
                let answers =
                    matches!(error, DbError::Query(_)) || self.outage.answered_since(began);
                if !answers {
                    refused = None;
                } else if refused.get_or_insert(began).elapsed() >= self.pace.refused {
                    return;
                }
                self.outage.failed(began);
            }
            sleep(pause).await;
            pause = (pause * 2).min(self.pace.write);
        }
    }

    async fn keep_house(&self) {
        if let Err(error) = self.work.keep_house().await {
            log::debug!("housekeeping of the {} failed: {error}", W::NAME);
        }
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
