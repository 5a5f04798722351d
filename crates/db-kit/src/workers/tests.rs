#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;

use tokio::task::JoinHandle;

use super::*;

const LONG: Duration = Duration::from_secs(20);

type Answer = JoinHandle<Result<(), JobError>>;

/// Starts a job that lasts until the sender is dropped.
async fn held(workers: &Arc<Workers>) -> (Answer, mpsc::Sender<()>) {
    let (let_go, gate) = mpsc::channel();
    let (begun, begins) = oneshot::channel();
    let job = run(workers, LONG, move || {
        begun.send(()).unwrap();
        let _ = gate.recv();
    });
    begins.await.unwrap();
    (job, let_go)
}

/// Starts a job whose caller gives up if it does not begin within `turn`.
fn run(workers: &Arc<Workers>, turn: Duration, work: impl FnOnce() + Send + 'static) -> Answer {
    let workers = Arc::clone(workers);
    tokio::spawn(async move { workers.run(turn, LONG, work).await })
}

/// Waits until `jobs` jobs are in the queue.
async fn until_waiting(workers: &Workers, jobs: usize) {
    while workers.queue.state().waiting.len() < jobs {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn jobs_run_in_their_order_on_as_many_threads_as_there_may_be() {
    let workers = Arc::new(Workers::new("test", 2));
    let (first, let_first_go) = held(&workers).await;
    let (_second, _let_second_go) = held(&workers).await;
    let done = Arc::new(Mutex::new(Vec::new()));
    let mut rest = Vec::new();
    for number in 0..10 {
        let done = Arc::clone(&done);
        rest.push(run(&workers, LONG, move || {
            done.lock().unwrap().push(number)
        }));
        until_waiting(&workers, 1 + number).await;
    }
    assert!(done.lock().unwrap().is_empty());
    drop(let_first_go);
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
    let (slow, let_go) = held(&workers).await;
    let (ran, runs) = mpsc::channel();
    let late = ran.clone();
    let late = run(&workers, soon, move || late.send("late").unwrap());
    assert!(matches!(late.await.unwrap(), Err(JobError::Turn)));
    let gone = ran.clone();
    let gone = run(&workers, LONG, move || gone.send("gone").unwrap());
    until_waiting(&workers, 2).await;
    gone.abort();
    gone.await.unwrap_err();
    drop(let_go);
    slow.await.unwrap().unwrap();
    let last = run(&workers, LONG, move || ran.send("last").unwrap());
    last.await.unwrap().unwrap();
    assert_eq!(runs.iter().collect::<Vec<_>>(), ["last"]);
}

#[tokio::test]
async fn a_job_that_lasts_too_long_is_left_alone() {
    let workers = Workers::new("test", 1);
    let soon = Duration::from_millis(20);
    let (let_go, gate) = mpsc::channel::<()>();
    let slow = workers.run(soon, soon, move || gate.recv().is_err());
    assert!(matches!(slow.await, Err(JobError::End)));
    drop(let_go);
    assert_eq!(workers.run(LONG, LONG, || 7).await.unwrap(), 7);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once_until_a_caller_goes_away() {
    let workers = Arc::new(Workers::new("test", 1).max_waiting(2));
    let (_held, let_go) = held(&workers).await;
    let first = run(&workers, LONG, || {});
    let second = run(&workers, LONG, || {});
    until_waiting(&workers, 2).await;
    let refused = run(&workers, LONG, || {});
    assert!(matches!(refused.await.unwrap(), Err(JobError::Full)));
    first.abort();
    first.await.unwrap_err();
    let third = run(&workers, LONG, || {});
    // The third job has taken the place of the first, so the next one is refused.
    let refused = run(&workers, LONG, || {});
    assert!(matches!(refused.await.unwrap(), Err(JobError::Full)));
    drop(let_go);
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
    let (let_go, gate) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    workers
        .spawn(move || {
            begun.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    begins.recv().unwrap();
    let (answer, pending) = JobHandle::<()>::new();
    workers.spawn(move || drop(answer.send(Ok(())))).unwrap();
    drop(workers);
    drop(let_go);
    assert!(matches!(
        pending.outcome(LONG, LONG).await,
        Err(JobError::Closed)
    ));
}
