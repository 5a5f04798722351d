//! Threads for slow work: one per core, at a low priority. The scheduler prefers the threads that answer requests. A flood
//! of sign-ins therefore gets the time that is left, which is all of it on an idle machine.

use std::time::Duration;

use db_kit::{JobError, Workers};

use crate::error::Error;

/// How many callers may wait for a thread, and for how long. Later callers get [`Error::Overloaded`].
const MAX_WAITING: usize = 256;
const MAX_WAIT: Duration = Duration::from_secs(15);

/// At equal demand, a thread with this niceness gets a tenth of the time of an ordinary one. That is enough for sign-ins to
/// continue on a busy machine.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

pub(super) struct HashThreads(Workers);

impl HashThreads {
    /// Creates one thread per core.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = Workers::new("identity bcrypt", cores);
        Self(workers.max_waiting(MAX_WAITING).on_start(yield_to_others))
    }

    /// Runs `work` when a thread is free, unless the request is dropped before.
    ///
    /// # Errors
    /// [`Error::Overloaded`] if the queue is full, or no thread is free in time.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, Error>
    where
        F: FnOnce() -> Result<T, Error> + Send + 'static,
        T: Send + 'static,
    {
        match self.0.run(MAX_WAIT, Duration::MAX, work).await {
            Ok(outcome) => outcome,
            Err(JobError::Full | JobError::NotStarted) => Err(Error::Overloaded),
            Err(missed) => Err(Error::internal("password threads", missed)),
        }
    }
}

/// Lowers the priority of the calling thread.
#[cfg(target_os = "linux")]
fn yield_to_others() {
    // On Linux, this affects only the calling thread (setpriority(2), "C library/kernel differences").
    if let Err(error) = rustix::process::nice(NICENESS) {
        log::warn!("cannot lower the priority of password hashing: {error}");
    }
}

/// Does nothing: other systems cannot lower the priority of one thread without unsafe code.
#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_internal_error() {
        let failed = HashThreads::new()
            .run::<(), _>(|| panic!("on purpose"))
            .await;
        assert!(matches!(failed, Err(Error::Internal(_))));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_hashing_threads_have_a_low_priority() {
        let own = || rustix::process::getpriority_process(None).unwrap();
        let before = own();
        let theirs = HashThreads::new().run(move || Ok(own())).await.unwrap();
        assert_eq!(theirs, (before + NICENESS).min(19));
        assert_eq!(own(), before);
    }
}
