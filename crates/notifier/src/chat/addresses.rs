//! Whose turn it is at an address: several projects may share one, and its chat counts all their messages together.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use event_types::{ChatAddress, ChatDestination};
use service_kit::Clock;

/// The most addresses that are remembered while they are not waited for.
const REMEMBERED: usize = 10_000;

/// What this process has sent where. Cheap to clone. Another process does not know of it: it hears from the chat itself when
/// it is too much.
#[derive(Clone)]
pub(crate) struct Addresses {
    clock: Clock,
    /// Between two messages to one address.
    interval: Duration,
    /// Addresses are secrets: they are known by their hashes, under a key of this run.
    keys: RandomState,
    turns: Arc<Mutex<HashMap<u64, Turns>>>,
}

/// The turns at one address.
#[derive(Debug, Default)]
struct Turns {
    /// The first that nobody has.
    next: NaiveDateTime,
    /// The chat wants nothing before.
    closed_until: NaiveDateTime,
    /// Turns that projects were promised.
    promised: BTreeMap<i64, NaiveDateTime>,
}

impl Addresses {
    pub(crate) fn new(clock: Clock, interval: Duration) -> Self {
        Self {
            clock,
            interval,
            keys: RandomState::new(),
            turns: Arc::default(),
        }
    }

    /// Takes the project's turn, or says how long it is to wait for one, which is then kept for it.
    pub(super) fn enter(
        &self,
        destination: &ChatDestination,
        project_id: i64,
    ) -> Result<(), Duration> {
        let now = self.clock.now_naive();
        let interval = TimeDelta::from_std(self.interval).unwrap_or(TimeDelta::MAX);
        self.with(destination, now, |turns| {
            if turns.closed_until > now {
                turns.promised.remove(&project_id);
                return Err(turns.closed_until);
            }
            match turns.promised.remove(&project_id) {
                Some(turn) if turn <= now => Ok(()),
                Some(turn) => {
                    turns.promised.insert(project_id, turn);
                    Err(turn)
                }
                None => {
                    let turn = turns.next.max(now);
                    turns.next = turn.checked_add_signed(interval).unwrap_or(turn);
                    if turn <= now {
                        return Ok(());
                    }
                    turns.promised.insert(project_id, turn);
                    Err(turn)
                }
            }
        })
        .map_err(|until| (until - now).to_std().unwrap_or_default())
    }

    /// Has nobody call an address for so long.
    pub(super) fn close(&self, destination: &ChatDestination, wait: Duration) {
        let now = self.clock.now_naive();
        let wait = TimeDelta::from_std(wait).unwrap_or(TimeDelta::MAX);
        let until = now.checked_add_signed(wait).unwrap_or(NaiveDateTime::MAX);
        self.with(destination, now, |turns| {
            turns.closed_until = turns.closed_until.max(until);
        });
    }

    fn with<T>(
        &self,
        destination: &ChatDestination,
        now: NaiveDateTime,
        work: impl FnOnce(&mut Turns) -> T,
    ) -> T {
        let key = match &destination.address {
            ChatAddress::Hook { webhook_url } => self.keys.hash_one(webhook_url),
            ChatAddress::Room {
                homeserver_url,
                room_id,
                ..
            } => self.keys.hash_one((homeserver_url, room_id)),
        };
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|_, turns| turns.next > now || turns.closed_until > now);
        }
        let turns = all.entry(key).or_default();
        // A project whose hook went away does not come for its turn.
        turns
            .promised
            .retain(|_, turn| *turn + TimeDelta::minutes(1) > now);
        work(turns)
    }
}

impl std::fmt::Debug for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Addresses").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use service_kit::ManualClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hook(name: &str) -> ChatDestination {
        ChatDestination {
            provider: "slack".to_owned(),
            address: ChatAddress::Hook {
                webhook_url: format!("https://chat.example/{name}"),
            },
        }
    }

    fn addresses() -> (Addresses, ManualClock) {
        let (clock, hands) = Clock::manual(DateTime::UNIX_EPOCH);
        (Addresses::new(clock, SECOND), hands)
    }

    #[test]
    fn projects_that_share_an_address_take_turns_each_of_which_is_kept() {
        let (addresses, clock) = addresses();
        let (shared, other) = (hook("shared"), hook("other"));
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        assert_eq!(addresses.enter(&shared, 2), Err(SECOND));
        assert_eq!(addresses.enter(&shared, 3), Err(SECOND * 2));
        // Whoever asks again has not lost its place, and has not got another.
        assert_eq!(addresses.enter(&shared, 2), Err(SECOND));
        assert_eq!(addresses.enter(&other, 2), Ok(()));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(addresses.enter(&shared, 3), Err(SECOND));
        assert_eq!(addresses.enter(&shared, 2), Ok(()));
        assert_eq!(addresses.enter(&shared, 1), Err(SECOND * 2));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(addresses.enter(&shared, 3), Ok(()));
    }

    #[test]
    fn what_a_chat_asks_of_one_project_all_hear() {
        let (addresses, clock) = addresses();
        let shared = hook("shared");
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        addresses.close(&shared, SECOND * 60);
        addresses.close(&shared, SECOND);
        assert_eq!(addresses.enter(&shared, 2), Err(SECOND * 60));
        assert_eq!(addresses.enter(&shared, 1), Err(SECOND * 60));
        clock.advance(TimeDelta::seconds(60));
        assert_eq!(addresses.enter(&shared, 2), Ok(()));
        assert_eq!(addresses.enter(&shared, 1), Err(SECOND));
        addresses.close(&shared, Duration::MAX);
        assert!(addresses.enter(&shared, 1).is_err());
    }

    #[test]
    fn what_nobody_waits_for_is_forgotten() {
        let (addresses, clock) = addresses();
        addresses.close(&hook("closed"), SECOND * 3_600);
        for n in 0..REMEMBERED + 10 {
            assert_eq!(addresses.enter(&hook(&n.to_string()), 1), Ok(()));
            clock.advance(TimeDelta::milliseconds(200));
        }
        let known = addresses.turns.lock().map(|turns| turns.len());
        assert!(known.is_ok_and(|known| known < REMEMBERED));
        assert!(addresses.enter(&hook("closed"), 2).is_err());
    }
}
