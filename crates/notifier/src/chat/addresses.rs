//! Pacing of messages to one address. Several projects may share an address, and its chat counts all their messages together.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use event_types::{ChatAddress, ChatDestination};
use service_kit::Clock;

/// The most addresses that are kept after their last message.
const REMEMBERED: usize = 10_000;

/// The longest time for which one response blocks an address for all projects. The project that got the response may
/// wait longer.
const LONGEST: TimeDelta = TimeDelta::hours(1);

/// A project that is late for its turn by this much loses it.
const LATEST: TimeDelta = TimeDelta::seconds(10);

/// The messages that this process sent to each address. Cheap to clone. Processes do not share it; the chat's own
/// rate limit covers them together.
#[derive(Debug, Clone)]
pub(crate) struct AddressPacer {
    clock: Clock,
    /// The interval between two messages to one address.
    interval: TimeDelta,
    /// Addresses are secrets, so the keys are hashes, seeded for this run.
    keys: RandomState,
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    turns: HashMap<u64, Turns>,
    /// The number of entries at which idle ones are removed.
    full: usize,
}

/// The turns at one address.
#[derive(Debug, Default)]
struct Turns {
    /// When the address was last called.
    last: Option<NaiveDateTime>,
    /// Until when the chat accepts no messages.
    closed_until: NaiveDateTime,
    /// The waiting projects in the order of arrival, each with its announced turn.
    waiting: Vec<(i64, NaiveDateTime)>,
}

impl AddressPacer {
    pub(crate) fn new(clock: Clock, interval: Duration) -> Self {
        Self {
            clock,
            interval: TimeDelta::from_std(interval).unwrap_or(LONGEST),
            keys: RandomState::new(),
            known: Arc::default(),
        }
    }

    /// Takes the project's turn, or returns when to come back. The project keeps its place in the order.
    pub(super) fn enter(
        &self,
        destination: &ChatDestination,
        project_id: i64,
    ) -> Result<(), NaiveDateTime> {
        let now = self.clock.now_naive();
        self.with(destination, now, |turns| {
            let place = turns.waiting.iter().position(|(id, _)| *id == project_id);
            let ahead = place.unwrap_or(turns.waiting.len());
            let next = turns.last.map_or(now, |last| last + self.interval);
            // Those before it may be late, by one interval each.
            let distance = self.interval * i32::try_from(ahead).unwrap_or(i32::MAX);
            let turn = next.max(turns.closed_until) + distance;
            if turn > now {
                match place.and_then(|place| turns.waiting.get_mut(place)) {
                    Some((_, told)) => *told = turn,
                    None => turns.waiting.push((project_id, turn)),
                }
                return Err(turn);
            }
            turns.waiting.retain(|(id, _)| *id != project_id);
            turns.last = Some(now);
            Ok(())
        })
    }

    /// Blocks an address for a time. The waiting projects keep their order.
    pub(super) fn close(&self, destination: &ChatDestination, wait: Duration) {
        let now = self.clock.now_naive();
        let until = now + TimeDelta::from_std(wait).unwrap_or(LONGEST).min(LONGEST);
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
            // Homeservers limit each user, so another token is another address.
            ChatAddress::Room {
                homeserver_url,
                room_id,
                access_token,
            } => self.keys.hash_one((homeserver_url, room_id, access_token)),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.turns.len() >= known.full.max(REMEMBERED) {
            let free = |last| last + self.interval <= now;
            known.turns.retain(|_, turns| {
                !turns.last.is_none_or(free)
                    || turns.closed_until > now
                    || !turns.waiting.is_empty()
            });
            known.full = known.turns.len() * 2;
        }
        let turns = known.turns.entry(key).or_default();
        // A project whose integration was removed never comes for its turn.
        turns.waiting.retain(|(_, turn)| *turn + LATEST > now);
        work(turns)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use event_types::ChatProvider;
    use service_kit::ManualClock;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn hook(name: &str) -> ChatDestination {
        ChatDestination {
            provider: ChatProvider::Slack,
            address: ChatAddress::Hook {
                webhook_url: format!("https://chat.example/{name}"),
            },
        }
    }

    fn after(seconds: i64) -> Result<(), NaiveDateTime> {
        Err(DateTime::UNIX_EPOCH.naive_utc() + TimeDelta::seconds(seconds))
    }

    fn addresses() -> (AddressPacer, ManualClock) {
        let (clock, hands) = Clock::manual(DateTime::UNIX_EPOCH);
        (AddressPacer::new(clock, SECOND), hands)
    }

    #[test]
    fn projects_that_share_an_address_get_slots_in_turn_and_keep_them() {
        let (addresses, clock) = addresses();
        let (shared, other) = (hook("shared"), hook("other"));
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        assert_eq!(addresses.enter(&shared, 2), after(1));
        assert_eq!(addresses.enter(&shared, 3), after(2));
        // A repeated request keeps the slot and does not get a second one.
        assert_eq!(addresses.enter(&shared, 2), after(1));
        assert_eq!(addresses.enter(&other, 2), Ok(()));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(addresses.enter(&shared, 3), after(2));
        assert_eq!(addresses.enter(&shared, 2), Ok(()));
        assert_eq!(addresses.enter(&shared, 1), after(3));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(addresses.enter(&shared, 3), Ok(()));
    }

    #[test]
    fn a_late_project_keeps_the_interval_and_an_absent_one_loses_its_slot() {
        let (addresses, clock) = addresses();
        let shared = hook("shared");
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        for (project, turn) in [(2, 1), (3, 2), (4, 3)] {
            assert_eq!(addresses.enter(&shared, project), after(turn));
        }
        clock.advance(TimeDelta::seconds(5));
        assert_eq!(addresses.enter(&shared, 2), Ok(()));
        assert_eq!(addresses.enter(&shared, 3), after(6));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(addresses.enter(&shared, 3), Ok(()));
        clock.advance(TimeDelta::minutes(2));
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        let now = 5 + 1 + 120;
        assert_eq!(addresses.enter(&shared, 2), after(now + 1));
        assert_eq!(addresses.enter(&shared, 4), after(now + 2));
    }

    #[test]
    fn a_retry_after_of_a_shared_address_delays_all_its_projects_in_order() {
        let (addresses, clock) = addresses();
        let shared = hook("shared");
        assert_eq!(addresses.enter(&shared, 1), Ok(()));
        assert_eq!(addresses.enter(&shared, 2), after(1));
        assert_eq!(addresses.enter(&shared, 3), after(2));
        addresses.close(&shared, SECOND * 60);
        addresses.close(&shared, SECOND);
        assert_eq!(addresses.enter(&shared, 3), after(61));
        assert_eq!(addresses.enter(&shared, 2), after(60));
        assert_eq!(addresses.enter(&shared, 1), after(62));
        clock.advance(TimeDelta::seconds(60));
        assert_eq!(addresses.enter(&shared, 2), Ok(()));
        addresses.close(&shared, Duration::MAX);
        assert_eq!(addresses.enter(&shared, 3), after(60 + 3_600));
    }

    #[test]
    fn busy_projects_share_an_address_evenly() {
        for projects in 2..=20 {
            let (addresses, clock) = addresses();
            let shared = hook("shared");
            let mut due: Vec<(NaiveDateTime, usize)> = (0..projects)
                .map(|project| (addresses.clock.now_naive(), project))
                .collect();
            let (mut sent, mut asked) = (vec![0; projects], 0);
            while sent.iter().sum::<i32>() < 2_000 {
                // Requests are always a little late, and of several at once the same one is first.
                due.sort_unstable();
                let (at, project) = due[0];
                let now = addresses.clock.now_naive();
                clock.advance((at - now).max(TimeDelta::zero()) + TimeDelta::milliseconds(7));
                asked += 1;
                due[0].0 = match addresses.enter(&shared, i64::try_from(project).unwrap_or(0)) {
                    Ok(()) => {
                        sent[project] += 1;
                        addresses.clock.now_naive() + TimeDelta::seconds(1)
                    }
                    Err(turn) => turn,
                };
            }
            let (least, most) = (sent.iter().min(), sent.iter().max());
            assert!(least.map(|least| least + 2) >= most.copied(), "{sent:?}");
            assert!(asked <= 2_000 * 4, "{projects} asked {asked} times");
        }
    }

    #[test]
    fn a_room_is_a_separate_address_for_each_access_token() {
        let (addresses, _clock) = addresses();
        let room = |token: &str| ChatDestination {
            provider: ChatProvider::Matrix,
            address: ChatAddress::Room {
                homeserver_url: "https://matrix.example".to_owned(),
                room_id: "!a:matrix.example".to_owned(),
                access_token: token.to_owned(),
            },
        };
        assert_eq!(addresses.enter(&room("one"), 1), Ok(()));
        assert_eq!(addresses.enter(&room("one"), 2), after(1));
        assert_eq!(addresses.enter(&room("other"), 3), Ok(()));
    }

    #[test]
    fn addresses_for_which_nobody_waits_are_removed() {
        let (addresses, clock) = addresses();
        addresses.close(&hook("closed"), SECOND * 3_600);
        for n in 0..REMEMBERED + 10 {
            assert_eq!(addresses.enter(&hook(&n.to_string()), 1), Ok(()));
            clock.advance(TimeDelta::milliseconds(200));
        }
        let known = addresses.known.lock().map(|known| known.turns.len());
        assert!(known.is_ok_and(|known| known < REMEMBERED));
        assert_eq!(addresses.enter(&hook("closed"), 2), after(3_600));
    }
}
