use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::error::Error;

/// A background job: work that runs repeatedly beside the requests, never twice at once.
#[derive(Debug)]
pub(crate) struct BackgroundJob {
    task: JoinHandle<()>,
}

impl BackgroundJob {
    /// Runs `work` as a task until the job is stopped.
    pub(crate) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        let task = tokio::spawn(work);
        Self { task }
    }

    /// Runs the work at once and then every `every`. When a run fails, the job logs `failure` with the cause and continues.
    pub(crate) fn spawn<S, W, D>(every: Duration, failure: &'static str, state: S, work: W) -> Self
    where
        S: Clone + Send + Sync + 'static,
        W: FnMut(S) -> D + Send + 'static,
        D: Future<Output = Result<(), Error>> + Send,
    {
        Self::spawn_woken(every, Arc::default(), failure, state, work)
    }

    /// Like [`BackgroundJob::spawn`], but also runs the work whenever `wake` is notified.
    pub(crate) fn spawn_woken<S, W, D>(
        every: Duration,
        wake: Arc<Notify>,
        failure: &'static str,
        state: S,
        mut work: W,
    ) -> Self
    where
        S: Clone + Send + Sync + 'static,
        W: FnMut(S) -> D + Send + 'static,
        D: Future<Output = Result<(), Error>> + Send,
    {
        Self::new(async move {
            let mut ticks = tokio::time::interval(every);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = wake.notified() => {}
                }
                if let Err(cause) = work(state.clone()).await {
                    log::warn!("{failure}: {cause}");
                }
            }
        })
    }

    /// Cancels the job. A transaction in progress completes on its own thread, and the next start continues from there.
    pub(crate) async fn stop(self) {
        self.task.abort();
        // Returns the cancellation that `abort` has requested.
        drop(self.task.await);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns a job that always fails, the number of its runs, and a notification of each run.
    fn failing_job(
        every: Duration,
        wake: &Arc<Notify>,
    ) -> (BackgroundJob, Arc<AtomicUsize>, Arc<Notify>) {
        let (count, done) = (Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
        let (counter, notify) = (Arc::clone(&count), Arc::clone(&done));
        let job = BackgroundJob::spawn_woken(every, Arc::clone(wake), "not done", (), move |()| {
            counter.fetch_add(1, Ordering::SeqCst);
            notify.notify_one();
            async { Err(Error::invalid("never")) }
        });
        (job, count, done)
    }

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn a_background_job_runs_at_once_and_when_woken_until_stopped() {
        let wake = Arc::<Notify>::default();
        let (job, count, done) = failing_job(LONG, &wake);
        done.notified().await;
        wake.notify_one();
        done.notified().await;
        job.stop().await;
        wake.notify_one();
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_background_job_runs_after_each_interval() {
        let every = Duration::from_millis(5);
        let began = tokio::time::Instant::now();
        let (job, _, done) = failing_job(every, &Arc::default());
        for _ in 0..4 {
            done.notified().await;
        }
        assert!(began.elapsed() >= 3 * every);
        job.stop().await;
    }
}
