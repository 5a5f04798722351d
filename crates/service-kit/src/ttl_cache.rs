//! Values that are cached for a while, on paths that every request takes.

use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use quick_cache::Equivalent;
use quick_cache::sync::Cache;

/// The minimum time between two removals of expired entries.
const TIDY_EVERY: Duration = Duration::from_secs(10);

/// A bounded cache whose entries expire by age, and which can be emptied at once. The caller passes the time, so that a request
/// reads the clock once.
#[derive(Debug)]
pub struct TtlCache<K, V> {
    cache: Cache<K, CacheEntry<V>>,
    life: Duration,
    /// Counts how often the cache was emptied. An entry of an earlier round is invalid.
    round: AtomicU64,
    tidied_at: Mutex<Instant>,
}

#[derive(Debug, Clone)]
struct CacheEntry<V> {
    value: V,
    round: u64,
    until: Instant,
}

impl<K, V> TtlCache<K, V>
where
    K: Hash + Eq,
    V: Clone,
{
    /// Creates a cache of about `capacity` entries, each of which expires after `life`.
    #[must_use]
    pub fn new(capacity: usize, life: Duration) -> Self {
        Self {
            cache: Cache::new(capacity),
            life,
            round: AtomicU64::new(0),
            tidied_at: Mutex::new(Instant::now()),
        }
    }

    /// Returns the value that was inserted last, unless it is expired or removed.
    pub fn get<Q: Equivalent<K> + Hash + ?Sized>(&self, key: &Q, now: Instant) -> Option<V> {
        let kept = self.cache.get(key)?;
        self.is_there(&kept, now).then_some(kept.value)
    }

    /// Inserts a value whose age counts from `since`.
    pub fn insert(&self, key: K, value: V, since: Instant) {
        let kept = CacheEntry {
            value,
            round: self.round.load(Ordering::Acquire),
            until: since + self.life,
        };
        self.cache.insert(key, kept);
        self.tidy_now_and_then(since);
    }

    /// Removes one entry.
    pub fn forget<Q: Equivalent<K> + Hash + ?Sized>(&self, key: &Q) {
        self.cache.remove(key);
    }

    /// Removes all entries.
    pub fn forget_all(&self) {
        self.round.fetch_add(1, Ordering::AcqRel);
    }

    fn is_there(&self, kept: &CacheEntry<V>, now: Instant) -> bool {
        kept.round == self.round.load(Ordering::Acquire) && now < kept.until
    }

    /// Frees the entries that are expired or removed, now and then. A caller does not wait for another one that is doing so.
    fn tidy_now_and_then(&self, now: Instant) {
        let mut tidied_at = match self.tidied_at.try_lock() {
            Ok(tidied_at) => tidied_at,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if now.saturating_duration_since(*tidied_at) >= self.life.max(TIDY_EVERY) {
            *tidied_at = now;
            self.cache.retain(|_, kept| self.is_there(kept, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(20);

    #[test]
    fn what_is_old_is_not_given_and_is_gone_once_others_come() {
        let memory = TtlCache::new(10, LIFE);
        let now = Instant::now();
        memory.insert(1, "one", now);
        assert_eq!(memory.get(&1, now + LIFE / 2), Some("one"));
        assert_eq!(memory.get(&1, now + LIFE), None);
        memory.insert(2, "two", now + LIFE / 2);
        assert_eq!(memory.cache.len(), 2);
        memory.insert(3, "three", now + LIFE + TIDY_EVERY / 2);
        assert_eq!(memory.cache.len(), 2);
    }

    #[test]
    fn what_was_forgotten_is_not_given() {
        let memory = TtlCache::new(10, LIFE);
        let now = Instant::now();
        for key in 0..3 {
            memory.insert(key, key, now);
        }
        memory.forget(&0);
        assert_eq!((memory.get(&0, now), memory.get(&1, now)), (None, Some(1)));
        memory.forget_all();
        memory.insert(2, 2, now);
        assert_eq!((memory.get(&1, now), memory.get(&2, now)), (None, Some(2)));
    }

    #[test]
    fn it_never_holds_more_than_it_has_room_for() {
        let memory = TtlCache::new(100, LIFE);
        let now = Instant::now();
        for key in 0..10_000 {
            memory.insert(key, key, now);
        }
        assert!(memory.cache.len() <= 128, "{}", memory.cache.len());
    }
}
