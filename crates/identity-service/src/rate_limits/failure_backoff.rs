use std::hash::Hash;

use chrono::{DateTime, Duration, Utc};

use crate::error::Error;

/// Failures further apart than this count as separate attacks. Also the longest wait.
const WINDOW: Duration = Duration::minutes(15);
const REMEMBERED: u64 = 100_000;

/// A wait that grows with consecutive failures and ends with a success or with time.
pub(super) struct FailureBackoff<K> {
    free: u32,
    failures: moka::sync::Cache<K, Failures>,
}

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: DateTime<Utc>,
}

impl<K: Hash + Eq + Send + Sync + 'static> FailureBackoff<K> {
    /// Waits one second after `free` failures, doubled by each further one, up to 15 minutes.
    pub(super) fn after(free: u32) -> Self {
        Self {
            free,
            failures: moka::sync::Cache::new(REMEMBERED),
        }
    }

    pub(super) fn check(&self, key: &K, now: DateTime<Utc>) -> Result<(), Error> {
        let failures = self.failures.get(key);
        match failures.map_or(0, |failures| self.seconds_to_wait(failures, now)) {
            0 => Ok(()),
            seconds => Err(Error::RateLimited(seconds)),
        }
    }

    pub(super) fn failed(&self, key: K, now: DateTime<Utc>) {
        self.failures.entry(key).and_upsert_with(|entry| {
            let before = entry
                .map(moka::Entry::into_value)
                .filter(|failures| now - failures.last < WINDOW);
            let before = before.map_or(0, |failures| failures.count);
            Failures {
                count: before.saturating_add(1),
                last: now,
            }
        });
    }

    pub(super) fn succeeded(&self, key: &K) {
        self.failures.invalidate(key);
    }

    fn seconds_to_wait(&self, failures: Failures, now: DateTime<Utc>) -> u64 {
        let Some(beyond) = failures.count.checked_sub(self.free) else {
            return 0;
        };
        let wait = Duration::seconds(1_i64 << beyond.min(10)).min(WINDOW);
        // Part of a second counts as a whole one, so that a caller who waits as told is let in.
        let left = (failures.last + wait - now).num_milliseconds();
        u64::try_from(left).map_or(0, |left| left.div_ceil(1_000))
    }
}
