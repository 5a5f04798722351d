use std::time::Duration;

use tokio::time::sleep;

/// The growing delay between attempts.
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            next: first,
        }
    }

    pub(crate) async fn wait(&mut self) {
        sleep(self.step()).await;
    }

    /// Returns the length of the next delay, for callers that wait themselves.
    pub(crate) fn step(&mut self) -> Duration {
        let next = self.next;
        self.next = (next * 2).min(self.longest);
        next
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}
