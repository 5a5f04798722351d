use std::sync::Arc;
use std::time::{Duration, Instant};

use auth_types::UserId;
use moka::sync::Cache;
use service_kit::Clock;

use super::CurrentUser;

/// Answers remembered at most; each is a few hundred bytes.
const REMEMBERED: u64 = 100_000;

/// Good answers, by the SHA-256 of the token, so that no token stands in memory.
#[derive(Clone)]
pub(super) struct Memory {
    answers: Cache<[u8; 32], Remembered>,
    /// When the identity service last said that something about a user is no longer as it was. What was
    /// asked before is not used, answers that were on their way then included.
    changes: Cache<UserId, Instant>,
    life: Duration,
}

#[derive(Clone)]
struct Remembered {
    user: Arc<CurrentUser>,
    asked: Instant,
}

impl Memory {
    /// One whose answers serve for `life`.
    pub(super) fn new(life: Duration) -> Self {
        Self {
            answers: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(life)
                .build(),
            // Whatever was asked before is too old by then.
            changes: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(life * 2)
                .build(),
            life,
        }
    }

    /// The answer for the token, if it may still be used.
    pub(super) fn find(&self, key: &[u8; 32], clock: &Clock) -> Option<Arc<CurrentUser>> {
        let remembered = self.answers.get(key)?;
        let fresh = remembered.asked.elapsed() < self.life
            && clock.now() < remembered.user.token_expires_at
            && self
                .changes
                .get(&remembered.user.id)
                .is_none_or(|changed| changed < remembered.asked);
        fresh.then_some(remembered.user)
    }

    /// Remembers an answer. It is as old as its question: what was revoked in between must not be carried longer.
    pub(super) fn keep(&self, key: [u8; 32], user: Arc<CurrentUser>, asked: Instant) {
        self.answers.insert(key, Remembered { user, asked });
    }

    /// Uses no answer about this user that was asked for until now.
    pub(super) fn forget(&self, user: UserId) {
        self.changes.insert(user, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use super::*;

    #[test]
    fn an_answer_that_was_on_its_way_when_something_changed_is_not_used() {
        let (clock, _) = Clock::manual(DateTime::UNIX_EPOCH);
        let memory = Memory::new(Duration::from_secs(1));
        let id = UserId::new(7).expect("positive");
        let user = Arc::new(CurrentUser {
            id,
            username: String::new(),
            email: None,
            email_verified: false,
            teams: Vec::new(),
            token_expires_at: DateTime::UNIX_EPOCH + TimeDelta::hours(1),
            scope: None,
            is_first_party: true,
        });
        let before = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        memory.forget(id);
        memory.keep([1; 32], Arc::clone(&user), before);
        assert!(memory.find(&[1; 32], &clock).is_none());
        std::thread::sleep(Duration::from_millis(1));
        memory.keep([1; 32], user, Instant::now());
        assert!(memory.find(&[1; 32], &clock).is_some());
    }
}
