#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;

use tokio::task::JoinHandle;

use super::*;

const LONG: Duration = Duration::from_secs(20);

type JobTask = JoinHandle<Result<(), JobError>>;

/// Starts a job that lasts until the sender is dropped.
async fn start_blocked_job(workers: &Arc<Workers>) -> (JobTask, mpsc::Sender<()>) {
    let (releaser, release) = mpsc::channel();
    let (begun, begins) = oneshot::channel();
    let job = run(workers, LONG, move || {
        begun.send(()).unwrap();
        let _ = release.recv();
    });
    begins.await.unwrap();
    (job, releaser)
}

/// Starts a job whose caller gives up if it does not begin within `start`.
fn run(workers: &Arc<Workers>, start: Duration, work: impl FnOnce() + Send + 'static) -> JobTask {
    let workers = Arc::clone(workers);
    tokio::spawn(async move { workers.run(start, LONG, work).await })
}

/// Waits until `jobs` jobs are in the queue.
async fn wait_until_waiting(workers: &Workers, jobs: usize) {
    while workers.queue.state().waiting.len() < jobs {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn jobs_run_in_their_order_on_as_many_threads_as_there_may_be() {
    let workers = Arc::new(Workers::new("test", 2));
    let (first, release_first) = start_blocked_job(&workers).await;
    let (_second, _release_second) = start_blocked_job(&workers).await;
    let done = Arc::new(Mutex::new(Vec::new()));
    let mut rest = Vec::new();
    for number in 0..10 {
        let done = Arc::clone(&done);
        rest.push(run(&workers, LONG, move || {
            done.lock().unwrap().push(number)
        }));
        wait_until_waiting(&workers, 1 + number).await;
    }
    assert!(done.lock().unwrap().is_empty());
    drop(release_first);
    first.await.unwrap().unwrap();
    for job in rest {
        job.await.unwrap().unwrap();
    }
    assert_eq!(*done.lock().unwrap(), (0..10).collect::<Vec<_>>());
    assert_eq!(workers.queue.state().threads, 2);
}

#[tokio::test]
async fn a_job_that_does_not_begin_in_time_or_whose_caller_went_away_never_runs() {
    let workers = Arc::new(Workers::new("test", 1));
    let soon = Duration::from_millis(20);
    let (slow, releaser) = start_blocked_job(&workers).await;
    let (ran, runs) = mpsc::channel();
    let late = ran.clone();
    let late = run(&workers, soon, move || late.send("late").unwrap());
    assert!(matches!(late.await.unwrap(), Err(JobError::NotStarted)));
    let abandoned = ran.clone();
    let abandoned = run(&workers, LONG, move || abandoned.send("gone").unwrap());
    wait_until_waiting(&workers, 2).await;
    abandoned.abort();
    abandoned.await.unwrap_err();
    drop(releaser);
    slow.await.unwrap().unwrap();
    let last = run(&workers, LONG, move || ran.send("last").unwrap());
    last.await.unwrap().unwrap();
    assert_eq!(runs.iter().collect::<Vec<_>>(), ["last"]);
}

#[tokio::test]
async fn a_job_that_lasts_too_long_is_left_alone() {
    let workers = Workers::new("test", 1);
    let soon = Duration::from_millis(20);
    let (releaser, release) = mpsc::channel::<()>();
    let slow = workers.run(soon, soon, move || release.recv().is_err());
    assert!(matches!(slow.await, Err(JobError::NotFinished)));
    drop(releaser);
    assert_eq!(workers.run(LONG, LONG, || 7).await.unwrap(), 7);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_until_a_caller_goes_away() {
    let workers = Arc::new(Workers::new("test", 1).max_waiting(2));
    let (_held, releaser) = start_blocked_job(&workers).await;
    let first = run(&workers, LONG, || {});
    let second = run(&workers, LONG, || {});
    wait_until_waiting(&workers, 2).await;
    let refused = run(&workers, LONG, || {});
    assert!(matches!(refused.await.unwrap(), Err(JobError::Full)));
    first.abort();
    first.await.unwrap_err();
    let third = run(&workers, LONG, || {});
    // The third job has taken the place of the first, so the next one is refused.
    let refused = run(&workers, LONG, || {});
    assert!(matches!(refused.await.unwrap(), Err(JobError::Full)));
    drop(releaser);
    second.await.unwrap().unwrap();
    third.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_is_its_callers_and_the_thread_goes_on() {
    let workers = Workers::new("test", 1);
    let panics = workers.run(LONG, LONG, || panic!("on purpose")).await;
    let Err(JobError::Panicked(payload)) = panics else {
        panic!("it did not panic: {panics:?}");
    };
    assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
    assert_eq!(workers.run(LONG, LONG, || 7).await.unwrap(), 7);
    assert_eq!(workers.queue.state().threads, 1);
}

#[tokio::test]
async fn a_job_that_waits_when_the_queue_is_closed_does_not_run() {
    let workers = Workers::new("test", 1);
    let (releaser, release) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    workers
        .spawn(move || {
            begun.send(()).unwrap();
            let _ = release.recv();
        })
        .unwrap();
    begins.recv().unwrap();
    let (reply, pending) = JobHandle::<()>::new();
    workers.spawn(move || drop(reply.send(Ok(())))).unwrap();
    drop(workers);
    drop(releaser);
    assert!(matches!(
        pending.outcome(LONG, LONG).await,
        Err(JobError::Closed)
    ));
}
