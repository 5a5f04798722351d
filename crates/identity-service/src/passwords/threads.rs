//! Threads for work that is slow on purpose: as many as there are cores, at a low priority. The scheduler lets the threads
//! that answer requests go first, so a flood of sign-ins takes the time that is left over, which is all of it when nothing
//! else wants any.

use std::time::Duration;

use db_kit::{Missed, Workers};

use crate::error::Error;

/// How many may wait for a core, and for how long. Later callers are told to come back.
const MAX_WAITING: usize = 256;
const MAX_WAIT: Duration = Duration::from_secs(15);

/// At equal demand a thread of this niceness gets a tenth of what an ordinary one gets: enough that
/// sign-ins go on, however busy the machine is otherwise.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

pub(super) struct Threads(Workers);

impl Threads {
    /// One thread for each core.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = Workers::new("identity bcrypt", cores);
        Self(workers.max_waiting(MAX_WAITING).on_start(yield_to_others))
    }

    /// Runs `work` when its turn comes; not when the request was dropped before.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when the queue is full or the turn does not come in time.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce() -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        match self.0.run(MAX_WAIT, Duration::MAX, work).await {
            Ok(outcome) => outcome,
            Err(Missed::Full | Missed::Turn) => Err(Error::Overloaded),
            Err(missed) => Err(Error::internal("password threads", missed)),
        }
    }
}

/// Lowers the priority of the calling thread.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    // On Linux this concerns the calling thread alone (setpriority(2), "C library/kernel differences").
    if let Err(error) = rustix::process::nice(NICENESS) {
        log::warn!("sign-ins compete with everything else for the cores: {error}");
    }
}

/// Elsewhere there is no priority of a single thread that could be lowered without unsafe code.
#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_request() {
        let failed = Threads::new().run::<(), _>(|| panic!("on purpose")).await;
        assert!(matches!(failed, Err(Error::Internal(_))));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_threads_that_hash_have_a_low_priority() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let theirs = Threads::new().run(move || Ok(own())).await.unwrap();
        assert_eq!(theirs, (before + NICENESS).min(19));
        assert_eq!(own(), before);
    }
}
