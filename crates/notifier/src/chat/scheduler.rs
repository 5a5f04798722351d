use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until};

use super::ledger::Ledger;
use super::model::Job;
use super::sender::Sender;

/// The most hooks that are posted to at once.
const HOOKS_AT_ONCE: usize = 128;

/// The most hooks taken in one transaction.
const HOOKS_AT_A_TIME: usize = 32;

/// How long the database is left alone when nothing says that there is work: another process may have
/// left some.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often what waits is counted.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// How many counts make it worth forgetting old rows: an hour's.
const COUNTS_BETWEEN_FORGETTING: u32 = 240;

/// The running scheduler: takes hooks that are due and posts to them.
#[derive(Debug)]
pub(crate) struct Scheduler {
    wake: Arc<Notify>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Scheduler {
    pub(crate) fn spawn(ledger: Ledger, sender: Sender) -> Self {
        let wake = Arc::new(Notify::new());
        let (stop, stopping) = watch::channel(false);
        let worker = Worker {
            ledger,
            sender,
            stopping,
        };
        let task = tokio::spawn(worker.run(Arc::clone(&wake)));
        Self { wake, stop, task }
    }

    /// Says that there is something to send.
    pub(crate) fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    /// Takes no further hook and waits for the sends under way.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        // The task ends by itself; it fails only when the runtime is going down.
        let _ = self.task.await;
    }
}

#[derive(Clone)]
struct Worker {
    ledger: Ledger,
    sender: Sender,
    stopping: watch::Receiver<bool>,
}

impl Worker {
    async fn run(self, wake: Arc<Notify>) {
        let mut sends = JoinSet::new();
        let mut stopping = self.stopping.clone();
        let mut housekeeping = interval_at(Instant::now() + COUNT_EVERY, COUNT_EVERY);
        housekeeping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut counts, mut look_at) = (0_u32, Instant::now());
        loop {
            let room = HOOKS_AT_ONCE.saturating_sub(sends.len());
            if room > 0 && Instant::now() >= look_at {
                look_at = Instant::now() + self.look(room, &mut sends).await;
            }
            let room = sends.len() < HOOKS_AT_ONCE;
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => break,
                _ = housekeeping.tick() => {
                    counts += 1;
                    self.keep_house(counts % COUNTS_BETWEEN_FORGETTING == 1).await;
                }
                Some(_) = sends.join_next(), if !sends.is_empty() => {
                    while sends.try_join_next().is_some() {}
                    look_at = Instant::now();
                }
                () = wake.notified() => look_at = Instant::now(),
                () = sleep_until(look_at), if room => {}
            }
        }
        while sends.join_next().await.is_some() {}
    }

    /// Takes what is due and says how long to wait before the next look.
    async fn look(&self, room: usize, sends: &mut JoinSet<()>) -> Duration {
        let limit = i64::try_from(room.min(HOOKS_AT_A_TIME)).unwrap_or(i64::MAX);
        let looked = async {
            match self.ledger.next_due().await? {
                Some(Duration::ZERO) => self.ledger.lease(limit).await.map(Ok),
                other => Ok(Err(other)),
            }
        };
        match looked.await {
            Ok(Ok(jobs)) => {
                for job in jobs {
                    sends.spawn(self.clone().work_off(job));
                }
                // What was let go has told the next look when it is due.
                Duration::ZERO
            }
            Ok(Err(due)) => due.unwrap_or(LOOK_EVERY).min(LOOK_EVERY),
            Err(error) => {
                log::warn!("notifications wait for the database: {error}");
                LOOK_EVERY
            }
        }
    }

    /// Posts to one hook for as long as it is its turn.
    async fn work_off(self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            let answer = self.sender.send(&job).await;
            next = self.write_down(&job, &answer).await;
        }
    }

    async fn write_down(&self, job: &Job, answer: &super::model::Answer) -> Option<Job> {
        // Within the lease; after it the message is sent again and counted as a possible duplicate.
        for pause in [0, 100, 500, 1_000, 2_000, 4_000, 8_000] {
            sleep(Duration::from_millis(pause)).await;
            let keep = !*self.stopping.borrow();
            match self.ledger.settle(job, answer, keep).await {
                Ok(next) => return next,
                Err(error) => log::warn!(
                    "what became of the notification {} is not written yet: {error}",
                    job.delivery.event_id
                ),
            }
        }
        None
    }

    async fn keep_house(&self, forget: bool) {
        if let Err(error) = self.ledger.keep_house(forget).await {
            log::debug!("housekeeping waits for the database: {error}");
        }
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error says that the handle is gone.
    let _ = stopping.wait_for(|stop| *stop).await;
}
