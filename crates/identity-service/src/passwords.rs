//! Password hashing with bcrypt: slow on purpose, so it runs on blocking threads, as many at once as
//! there are cores, behind a bounded queue. Nobody holds a database connection here.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::accounts::rules::Password;
use crate::error::Error;

/// How many may wait for a core, and for how long. Who comes later is told to come back.
const MAX_WAITING: usize = 256;
const MAX_WAIT: Duration = Duration::from_secs(15);

/// Hashes and checks passwords at one cost.
pub(crate) struct PasswordHasher {
    cost: u32,
    dummy: String,
    waiting: Arc<Semaphore>,
    cores: Arc<Semaphore>,
}

/// What a check found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Wrong,
    Right,
    /// Right, and the stored hash is cheaper than the configured cost: here is its replacement.
    RightButWeak(String),
}

impl PasswordHasher {
    pub(crate) fn new(cost: u32) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            cost,
            dummy: dummy_hash(cost),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            cores: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Hashes a new account's password.
    pub(crate) async fn hash(&self, password: Password) -> Result<String, Error> {
        let cost = self.cost;
        self.run(move || hash(&password, cost)).await
    }

    /// Compares a presented password with the stored hash, or with a dummy of the same cost when there
    /// is no account: a wrong one takes one full bcrypt of the configured cost, whatever is stored.
    pub(crate) async fn verify(
        &self,
        password: Password,
        stored: Option<String>,
    ) -> Result<Verdict, Error> {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.dummy.clone());
        let cost = self.cost;
        self.run(move || {
            let matches = bcrypt::verify(password.as_bytes(), &stored)
                .map_err(|error| Error::internal("bcrypt", error))?;
            let stored_cost = stored
                .parse::<bcrypt::HashParts>()
                .map_or(cost, |parts| parts.get_cost());
            if !(matches && known && password.fits()) {
                spend_the_rest(&password, stored_cost, cost)?;
                return Ok(Verdict::Wrong);
            }
            if stored_cost < cost {
                return hash(&password, cost).map(Verdict::RightButWeak);
            }
            Ok(Verdict::Right)
        })
        .await
    }

    async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce() -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        let place = Arc::clone(&self.waiting)
            .try_acquire_owned()
            .map_err(|_| Error::Overloaded)?;
        let core = tokio::time::timeout(MAX_WAIT, Arc::clone(&self.cores).acquire_owned())
            .await
            .map_err(|_| Error::Overloaded)?
            .map_err(|error| Error::internal("bcrypt queue", error))?;
        drop(place);
        let task = tokio::task::spawn_blocking(move || {
            // Held by the thread, not by the request: a client that hangs up does not free a core that still works.
            let _core = core;
            work()
        });
        task.await
            .map_err(|error| Error::internal("bcrypt thread", error))?
    }
}

fn hash(password: &Password, cost: u32) -> Result<String, Error> {
    // The length is checked before: the non-truncating call refuses exactly 72 bytes, which are fine.
    bcrypt::hash(password.as_bytes(), cost).map_err(|error| Error::internal("bcrypt", error))
}

/// Takes what a check at `cost` would have taken longer than the one at `spent`, or else a name whose
/// hash is older than the configured cost would tell itself by its quick refusal. Each cost doubles
/// the time, so the costs from `spent` up to `cost` add up to the difference.
fn spend_the_rest(password: &Password, spent: u32, cost: u32) -> Result<(), Error> {
    (spent..cost).try_for_each(|cost| {
        bcrypt::verify(password.as_bytes(), &dummy_hash(cost))
            .map(drop)
            .map_err(|error| Error::internal("bcrypt", error))
    })
}

/// A hash in the right form that no password has: its salt and digest are not of one another.
fn dummy_hash(cost: u32) -> String {
    format!(
        "$2b${cost:02}${}{}",
        "K".repeat(21) + "O",
        "d".repeat(30) + "u"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test]
    async fn a_cheaper_hash_is_upgraded_and_the_dummy_never_matches() {
        let weak = PasswordHasher::new(4);
        let strong = PasswordHasher::new(5);
        let password = Password::parse_new("correct horse").unwrap();
        let stored = weak.hash(password.clone()).await.unwrap();
        assert_eq!(
            weak.verify(password.clone(), Some(stored.clone()))
                .await
                .unwrap(),
            Verdict::Right
        );
        let Verdict::RightButWeak(better) =
            strong.verify(password.clone(), Some(stored)).await.unwrap()
        else {
            panic!("not upgraded");
        };
        assert_eq!(
            strong.verify(password.clone(), Some(better)).await.unwrap(),
            Verdict::Right
        );
        assert_eq!(strong.verify(password, None).await.unwrap(), Verdict::Wrong);
    }

    #[tokio::test]
    async fn who_comes_when_the_queue_is_full_is_turned_away_at_once() {
        let hasher = Arc::new(PasswordHasher::new(6));
        let cores = std::thread::available_parallelism().unwrap().get();
        let attempts: Vec<_> = (0..cores + MAX_WAITING + 40)
            .map(|_| {
                let hasher = Arc::clone(&hasher);
                tokio::spawn(async move { hasher.verify(Password::presented("guess"), None).await })
            })
            .collect();
        let mut turned_away = 0;
        for attempt in attempts {
            match attempt.await.unwrap() {
                Ok(verdict) => assert_eq!(verdict, Verdict::Wrong),
                Err(error) => {
                    assert!(matches!(error, Error::Overloaded));
                    turned_away += 1;
                }
            }
        }
        // The tasks start one after another on one thread: none of the first had finished.
        assert_eq!(turned_away, 40);
    }

    #[tokio::test]
    async fn what_bcrypt_would_cut_off_is_wrong_even_when_the_head_matches() {
        let hasher = PasswordHasher::new(4);
        let stored = hasher
            .hash(Password::parse_new(&"x".repeat(72)).unwrap())
            .await
            .unwrap();
        let verdict =
            |text: String| hasher.verify(Password::presented(&text), Some(stored.clone()));
        assert_eq!(verdict("x".repeat(72)).await.unwrap(), Verdict::Right);
        assert_eq!(verdict("x".repeat(73)).await.unwrap(), Verdict::Wrong);
        assert_eq!(verdict("x".repeat(71)).await.unwrap(), Verdict::Wrong);
    }
}
