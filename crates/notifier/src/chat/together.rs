use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use db_kit::DbError;
use tokio::sync::oneshot::{self, error::TryRecvError};

/// The most that is committed together.
const MOST: usize = 64;

type Waiting<T, R> = (T, oneshot::Sender<Result<R, DbError>>);

/// Has what many callers bring at the same time committed together: while one transaction runs, the next one fills.
/// Many small ones would cost the database a flush and a dozen statements each.
#[derive(Debug)]
pub(super) struct Together<T, R> {
    waiting: Mutex<Vec<Waiting<T, R>>>,
    turn: tokio::sync::Mutex<()>,
}

impl<T, R> Default for Together<T, R> {
    fn default() -> Self {
        Self {
            waiting: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }
}

impl<T: Clone, R> Together<T, R> {
    /// Commits an item with those of other callers, and gives what came of it. `commit` answers for each, in their
    /// order. What only one of them is to blame for fails that one: unless the database is away, they are committed
    /// one by one then.
    pub(super) async fn commit<F, Fut>(&self, item: T, commit: F) -> Result<R, DbError>
    where
        F: Fn(Vec<T>) -> Fut,
        Fut: Future<Output = Result<Vec<R>, DbError>>,
    {
        let (answer, mut answered) = oneshot::channel();
        self.waiting().push((item, answer));
        let _turn = self.turn.lock().await;
        loop {
            match answered.try_recv() {
                Ok(result) => return result,
                Err(TryRecvError::Empty) => self.commit_some(&commit).await,
                // Whoever had taken it is gone.
                Err(TryRecvError::Closed) => {
                    return Err(DbError::Unreachable("nobody committed it".to_owned()));
                }
            }
        }
    }

    async fn commit_some<F, Fut>(&self, commit: &F)
    where
        F: Fn(Vec<T>) -> Fut,
        Fut: Future<Output = Result<Vec<R>, DbError>>,
    {
        let (items, answers): (Vec<T>, Vec<_>) = {
            let mut waiting = self.waiting();
            // Who has given up brings it again.
            waiting.retain(|(_, answer)| !answer.is_closed());
            let most = waiting.len().min(MOST);
            waiting.drain(..most).unzip()
        };
        let results = match commit(items.clone()).await {
            Ok(results) => results.into_iter().map(Ok).collect(),
            Err(error) if items.len() == 1 => vec![Err(error)],
            // Whose fault it is nobody knows.
            Err(DbError::Query(_)) => {
                let mut results = Vec::with_capacity(items.len());
                for item in items {
                    let alone = commit(vec![item]).await;
                    results.extend(alone.map_or_else(
                        |error| vec![Err(error)],
                        |results| results.into_iter().map(Ok).collect(),
                    ));
                }
                results
            }
            Err(error) => {
                let error = error.to_string();
                let each = items
                    .iter()
                    .map(|_| Err(DbError::Unreachable(error.clone())));
                each.collect()
            }
        };
        for (answer, result) in answers.into_iter().zip(results) {
            // Nobody is left who wants to know.
            let _ = answer.send(result);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting<T, R>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use diesel::result::Error;
    use tokio::sync::Semaphore;
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn what_comes_during_a_commit_is_committed_together_and_each_gets_its_own_answer() {
        let (together, calls, gate) = (
            Arc::new(Together::default()),
            Arc::new(AtomicUsize::new(0)),
            Arc::new(Semaphore::new(0)),
        );
        let commit = |number: usize| {
            let (together, calls, gate) = (together.clone(), calls.clone(), gate.clone());
            tokio::spawn(async move {
                let double = |numbers: Vec<usize>| async {
                    calls.fetch_add(1, Ordering::SeqCst);
                    gate.acquire().await.unwrap().forget();
                    Ok(numbers.into_iter().map(|number| number * 2).collect())
                };
                together.commit(number, double).await.unwrap()
            })
        };
        let first = commit(1);
        while calls.load(Ordering::SeqCst) == 0 {
            yield_now().await;
        }
        let others: Vec<_> = (20..=20 + MOST).map(commit).collect();
        while together.waiting().len() <= MOST {
            yield_now().await;
        }
        gate.add_permits(3);
        assert_eq!(first.await.unwrap(), 2);
        for (other, number) in others.into_iter().zip(20..) {
            assert_eq!(other.await.unwrap(), number * 2);
        }
        // One by itself, then as many as one transaction takes, then the rest.
        assert_eq!(calls.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn what_one_is_to_blame_for_fails_that_one_and_what_passes_fails_all() {
        for (lasts, answered, called) in [
            (true, [true, true, false, true], 5),
            (false, [true, false, false, false], 2),
        ] {
            let (together, calls) = (Together::default(), AtomicUsize::new(0));
            let commit = |numbers: Vec<usize>| async {
                calls.fetch_add(1, Ordering::SeqCst);
                // The others come while the first one is committed.
                yield_now().await;
                match numbers.contains(&13) {
                    true if lasts => Err(lasting()),
                    true => Err(DbError::Busy),
                    false => Ok(numbers),
                }
            };
            let commit = |number| together.commit(number, commit);
            let (a, b, c, d) = tokio::join!(commit(1), commit(12), commit(13), commit(14));
            assert_eq!([a, b, c, d].map(|answer| answer.is_ok()), answered);
            assert_eq!(calls.load(Ordering::SeqCst), called);
        }
    }

    #[tokio::test]
    async fn what_somebody_gave_up_is_not_committed() {
        let (together, seen) = (Together::default(), Mutex::new(Vec::<usize>::new()));
        let gate = Semaphore::new(0);
        let commit = |numbers: Vec<usize>| async {
            seen.lock().unwrap().extend(&numbers);
            gate.acquire().await.unwrap().forget();
            Ok(numbers)
        };
        let mut first = Box::pin(together.commit(1, commit));
        for given_up in [&mut first, &mut Box::pin(together.commit(2, commit))] {
            tokio::select! {
                biased;
                _ = given_up => panic!("the gate is shut"),
                () = async {} => {}
            }
        }
        gate.add_permits(2);
        first.await.unwrap();
        together.commit(3, commit).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), [1, 3]);
    }

    fn lasting() -> DbError {
        let cause = Box::new(std::io::Error::other("unlucky"));
        DbError::from(Error::SerializationError(cause))
    }
}
