use std::time::Duration;

use tokio::time::sleep;

/// A growing wait between attempts.
pub(crate) struct Pause {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Pause {
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

    /// The length of the next wait, for callers that wait in their own way.
    pub(crate) fn step(&mut self) -> Duration {
        let next = self.next;
        self.next = (next * 2).min(self.longest);
        next
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}
