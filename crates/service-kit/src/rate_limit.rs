//! A rate limit per key (address, user, session): a burst, which refills steadily.
//!
//! It uses the machine's monotonic clock, not the injected one: a corrected wall clock must neither lock anybody out nor let a
//! flood in.

use std::{
    fmt,
    hash::Hash,
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

/// Checks between two sweeps of the keys whose buckets are full again.
const SWEEP_EVERY: u32 = 4096;

/// A rate limit that applies to each key by itself.
pub struct KeyedLimiter<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    clock: DefaultClock,
    checks: AtomicU32,
}

/// The rejection of a request: seconds until the next one would pass, at least 1 (the value of `Retry-After`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAfter(pub u64);

impl<K: Hash + Eq + Clone> KeyedLimiter<K> {
    /// Creates a limit of `burst` requests of a key at once, and `refill` more in each `per`. Zero counts as one: to switch a
    /// limit off, do not check it.
    pub fn new(burst: u32, per: Duration, refill: u32) -> Self {
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        // `with_period` does not accept zero. A nanosecond makes no difference to having no limit.
        let period = (per / refill.max(1)).max(Duration::from_nanos(1));
        let quota = Quota::with_period(period)
            .unwrap_or_else(|| Quota::per_second(burst))
            .allow_burst(burst);
        Self {
            limiter: RateLimiter::keyed(quota),
            clock: DefaultClock::default(),
            checks: AtomicU32::new(0),
        }
    }

    /// Takes one request of `key` from its bucket, or returns how long to wait.
    pub fn check(&self, key: &K) -> Result<(), RetryAfter> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY - 1 {
            // Memory stays proportional to the keys within one refill, not to all keys since the start.
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            RetryAfter(
                wait.as_secs() + u64::from(wait.subsec_nanos() > 0).max(u64::from(wait.is_zero())),
            )
        })
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for KeyedLimiter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedLimiter")
            .field("keys", &self.limiter.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{KeyedLimiter, RetryAfter, SWEEP_EVERY};

    #[test]
    fn a_key_gets_its_burst_and_then_a_waiting_time_while_another_is_untouched() {
        let limiter = KeyedLimiter::new(3, Duration::from_secs(60), 30);
        for _ in 0..3 {
            assert_eq!(limiter.check(&"a"), Ok(()));
        }
        assert_eq!(limiter.check(&"a"), Err(RetryAfter(2)));
        assert_eq!(limiter.check(&"b"), Ok(()));
    }

    #[test]
    fn keys_that_are_full_again_are_forgotten() {
        let limiter = KeyedLimiter::new(1, Duration::from_micros(1), 1);
        for key in 0..SWEEP_EVERY * 3 {
            assert_eq!(limiter.check(&key), Ok(()));
        }
        assert!(limiter.limiter.len() <= 64, "{limiter:?}");
    }
}
