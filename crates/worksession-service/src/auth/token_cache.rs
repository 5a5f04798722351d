use std::sync::Arc;
use std::time::{Duration, Instant};

use auth_types::UserId;
use service_kit::{Clock, TtlCache};

use super::CurrentUser;

/// The maximum number of cached validations, each of a few hundred bytes.
const MAX_ENTRIES: usize = 100_000;

/// Cached validations, keyed by the SHA-256 of the token, so that no token is stored.
pub(super) struct TokenCache {
    validations: TtlCache<[u8; 32], CachedUser>,
    /// When the identity service last reported a change to a user. Validations requested before that are not used, even if
    /// they were still in flight.
    changes: TtlCache<UserId, Instant>,
}

#[derive(Clone)]
struct CachedUser {
    user: Arc<CurrentUser>,
    requested_at: Instant,
}

impl TokenCache {
    /// Creates a cache whose entries expire after `life`.
    pub(super) fn new(life: Duration) -> Self {
        Self {
            validations: TtlCache::new(MAX_ENTRIES, life),
            // Every validation from before the change has expired by then.
            changes: TtlCache::new(MAX_ENTRIES, life * 2),
        }
    }

    /// Finds the user of the token, if the cached validation is still current.
    pub(super) fn find(&self, key: &[u8; 32], clock: &Clock) -> Option<Arc<CurrentUser>> {
        let now = Instant::now();
        let cached = self.validations.get(key, now)?;
        let is_current = clock.now() < cached.user.token_expires_at
            && self
                .changes
                .get(&cached.user.id, now)
                .is_none_or(|changed| changed < cached.requested_at);
        is_current.then_some(cached.user)
    }

    /// Stores a validation. Its age counts from the request, so that a revocation in between is not delayed further.
    pub(super) fn insert(&self, key: [u8; 32], user: Arc<CurrentUser>, requested_at: Instant) {
        self.validations
            .insert(key, CachedUser { user, requested_at }, requested_at);
    }

    /// Stops using validations of this user that were requested before now.
    pub(super) fn invalidate(&self, user: UserId) {
        let now = Instant::now();
        self.changes.insert(user, now, now);
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    #[test]
    fn a_validation_in_flight_during_a_change_is_not_cached() {
        let (clock, _) = Clock::manual(DateTime::UNIX_EPOCH);
        let cache = TokenCache::new(Duration::from_secs(1));
        let id = UserId::new(7).expect("positive");
        let user = Arc::new(CurrentUser {
            id,
            username: String::new(),
            email: None,
            email_verified: false,
            teams: Vec::new(),
            token_expires_at: DateTime::UNIX_EPOCH + TimeDelta::hours(1),
            scope: None,
            session_id: None,
            client_id: None,
            is_first_party: true,
        });
        let before = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        cache.invalidate(id);
        cache.insert([1; 32], Arc::clone(&user), before);
        assert!(cache.find(&[1; 32], &clock).is_none());
        std::thread::sleep(Duration::from_millis(1));
        cache.insert([1; 32], user, Instant::now());
        assert!(cache.find(&[1; 32], &clock).is_some());
    }
}
