//! The loop: take what is due under a lease, do it, write down what came of it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use db_kit::DbError;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::outage::{Outage, Unwritten};

/// How long the database is left alone when nothing says that there is work: another process may have
/// left some.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long after a look the next one is put off at most, so that destinations that come due in the meantime are taken together.
const GATHER: Duration = Duration::from_millis(5);

/// How long what was due and could not be taken is left alone.
const LOCKED: Duration = Duration::from_millis(10);

/// How soon it looks again while nothing is taken, because outcomes wait for the database.
const HELD: Duration = Duration::from_millis(100);

/// How often what waits is counted.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// The most jobs taken in one transaction.
const AT_A_TIME: usize = 32;

/// The most tries to write down what the database would refuse for ever. After them the job is done again, once its lease is
/// over, and counted as a possible duplicate.
const LASTING_TRIES: u32 = 7;

/// How often it is said that an outcome is still not written.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// How long it waits for what; tests wait less.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Between two tries to write an outcome down, at most.
    write: Duration,
    /// For the database to take an outcome. With the ten seconds of a call it is less than any lease.
    answer: Duration,
    /// For the database to take an outcome while it answers other questions: somebody may hold the row, or the disk be full.
    /// After that the job is done again, as above, so that the others need not wait any longer.
    refused: Duration,
    /// When the process stops, until what cannot be written is left.
    stop: Duration,
    /// After the database was away for so long leases may have run out whose holders know the outcome.
    pub(crate) outage: Duration,
    /// Who knows an outcome has it written down so long after the database is back.
    pub(crate) grace: Duration,
}

const PACE: Pace = Pace {
    write: Duration::from_secs(1),
    answer: Duration::from_secs(15),
    refused: Duration::from_secs(600),
    stop: Duration::from_secs(15),
    outage: Duration::from_secs(10),
    grace: Duration::from_secs(5),
};

/// Work that lies in rows. Cheap to clone.
pub(crate) trait Work: Clone + Send + Sync + 'static {
    /// One piece of it, leased to this process.
    type Job: Send + Sync + 'static;
    /// What came of a job.
    type Answer: Send + Sync;
    /// What jobs that follow each other share.
    type Connection: Default + Send;

    /// What the jobs are, for logs.
    const NAME: &'static str;

    /// How many more jobs may begin while `busy` are under way.
    fn room(&self, busy: usize) -> usize;

    /// How long until something is due; none when nothing waits. Costs no write.
    fn next_due(&self) -> impl Future<Output = Result<Option<Duration>, DbError>> + Send;

    /// Takes up to `limit` jobs that are due.
    fn lease(&self, limit: i64) -> impl Future<Output = Result<Vec<Self::Job>, DbError>> + Send;

    /// Does a job, within its lease. When the process stops it ends what it can leave.
    fn act(
        &self,
        connection: &mut Self::Connection,
        job: &Self::Job,
        stopping: &Stopping,
    ) -> impl Future<Output = Self::Answer> + Send;

    /// Writes down what came of a job.
    fn settle(
        &self,
        job: &Self::Job,
        answer: &Self::Answer,
    ) -> impl Future<Output = Result<(), DbError>> + Send;

    /// Whether the next job is to be done on the same connection.
    fn keeps_connection(&self) -> bool;

    fn close(&self, connection: Self::Connection) -> impl Future<Output = ()> + Send;

    /// Counts what waits, and forgets some of what is long over.
    fn keep_house(&self) -> impl Future<Output = Result<(), DbError>> + Send;
}

#[derive(Debug)]
pub(crate) struct Scheduler {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Scheduler {
    /// Starts to work; `wake` is told when there is something to do.
    pub(crate) fn spawn(work: impl Work, wake: Arc<Notify>) -> Self {
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            work,
            stopping: Stopping(stopping),
            pace: PACE,
            outage: Arc::default(),
        };
        let task = tokio::spawn(worker.run(wake));
        Self { stop, task }
    }

    /// Takes nothing further and waits for what is under way.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        // The task ends by itself; it fails only when the runtime is going down.
        let _ = self.task.await;
    }
}

/// Tells whether the process is to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stopping {
    fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when the process is to stop.
    pub(crate) async fn wait(&self) {
        // An error says that the handle is gone.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }
}

#[derive(Clone)]
struct Worker<W> {
    work: W,
    stopping: Stopping,
    pace: Pace,
    outage: Arc<Outage>,
}

impl<W: Work> Worker<W> {
    async fn run(self, wake: Arc<Notify>) {
        let mut runs = JoinSet::new();
        // At once, too: what a process that died had not got to is found then.
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
        // What has come and was not looked at would wait for the next process to find it.
        if let Ok(Err(error)) = timeout(LOOK_EVERY, self.work.next_due()).await {
            log::debug!("the {} are left as they are: {error}", W::NAME);
        }
    }

    /// Takes what is due and says how long to wait before the next look.
    async fn look(&self, room: usize, runs: &mut JoinSet<()>) -> Duration {
        let limit = i64::try_from(room.min(AT_A_TIME)).unwrap_or(i64::MAX);
        let began = Instant::now();
        let looked = async {
            // The end of an outage is noticed by asking.
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
            // Locked by somebody else, or let go: the row says when it is due next, and is asked again soon.
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
                log::warn!("{} wait for the database: {error}", W::NAME);
                LOOK_EVERY
            }
        }
    }

    /// Does a job, and others after it for as long as they are to share its connection.
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

    /// The next job on the same connection. What it would be may be what another one waits to write down.
    async fn next(&self) -> Option<W::Job> {
        if self.stopping.is_set() || self.outage.holds() || !self.work.keeps_connection() {
            return None;
        }
        self.work.lease(1).await.ok()?.pop()
    }

    /// Tries for as long as the database is away: what came of a job is known here alone, and whoever took it over would do
    /// it again.
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
                log::warn!("what became of one of the {name} is not written yet: {error}");
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
            log::debug!("housekeeping of the {} waits: {error}", W::NAME);
        }
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;
