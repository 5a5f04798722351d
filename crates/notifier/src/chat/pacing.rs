//! Pacing of messages to one address. Several projects may share an address, and its chat counts all their messages together.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use event_types::{ChatAddress, ChatDestination};
use service_kit::Clock;

/// The most addresses that are kept after their last message.
const MAX_ADDRESSES: usize = 10_000;

/// The longest time for which one response blocks an address for all projects. The project that got the response may
/// wait longer.
const MAX_BLOCK: TimeDelta = TimeDelta::hours(1);

/// A project that is late for its slot by this much loses it.
const MAX_LATENESS: TimeDelta = TimeDelta::seconds(10);

/// The messages that this process sent to each address. Cheap to clone. Processes do not share it; the chat's own
/// rate limit covers them together.
#[derive(Debug, Clone)]
pub(crate) struct AddressPacer {
    clock: Clock,
    /// The interval between two messages to one address.
    interval: TimeDelta,
    /// Addresses are secrets, so the keys are hashes, seeded for this run.
    keys: RandomState,
    state: Arc<Mutex<PacerState>>,
}

#[derive(Debug, Default)]
struct PacerState {
    queues: HashMap<u64, AddressQueue>,
    /// The number of entries at which idle ones are removed.
    full: usize,
}

/// The slots at one address.
#[derive(Debug, Default)]
struct AddressQueue {
    /// When the address was last called.
    last: Option<NaiveDateTime>,
    /// Until when the chat accepts no messages.
    blocked_until: NaiveDateTime,
    /// The waiting projects in the order of arrival, each with its announced slot.
    waiting: Vec<(i64, NaiveDateTime)>,
}

impl AddressPacer {
    pub(crate) fn new(clock: Clock, interval: Duration) -> Self {
        Self {
            clock,
            interval: TimeDelta::from_std(interval).unwrap_or(MAX_BLOCK),
            keys: RandomState::new(),
            state: Arc::default(),
        }
    }

    /// Takes the project's slot, or returns when it is. The project keeps its position in the order.
    pub(super) fn take_slot(
        &self,
        destination: &ChatDestination,
        project_id: i64,
    ) -> Result<(), NaiveDateTime> {
        let now = self.clock.now_naive();
        self.with_queue(destination, now, |queue| {
            let index = queue.waiting.iter().position(|(id, _)| *id == project_id);
            let ahead = index.unwrap_or(queue.waiting.len());
            let next = queue.last.map_or(now, |last| last + self.interval);
            // Those before it may be late, by one interval each.
            let distance = self.interval * i32::try_from(ahead).unwrap_or(i32::MAX);
            let slot = next.max(queue.blocked_until) + distance;
            if slot > now {
                match index.and_then(|index| queue.waiting.get_mut(index)) {
                    Some((_, announced)) => *announced = slot,
                    None => queue.waiting.push((project_id, slot)),
                }
                return Err(slot);
            }
            queue.waiting.retain(|(id, _)| *id != project_id);
            queue.last = Some(now);
            Ok(())
        })
    }

    /// Blocks an address for a time. The waiting projects keep their order.
    pub(super) fn block(&self, destination: &ChatDestination, wait: Duration) {
        let now = self.clock.now_naive();
        let wait = TimeDelta::from_std(wait).map_or(MAX_BLOCK, |wait| wait.min(MAX_BLOCK));
        self.with_queue(destination, now, |queue| {
            queue.blocked_until = queue.blocked_until.max(now + wait);
        });
    }

    fn with_queue<T>(
        &self,
        destination: &ChatDestination,
        now: NaiveDateTime,
        work: impl FnOnce(&mut AddressQueue) -> T,
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
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.queues.len() >= state.full.max(MAX_ADDRESSES) {
            let is_idle = |last| last + self.interval <= now;
            state.queues.retain(|_, queue| {
                !queue.last.is_none_or(is_idle)
                    || queue.blocked_until > now
                    || !queue.waiting.is_empty()
            });
            state.full = state.queues.len() * 2;
        }
        let queue = state.queues.entry(key).or_default();
        // A project whose integration was removed never comes for its slot.
        queue.waiting.retain(|(_, slot)| *slot + MAX_LATENESS > now);
        work(queue)
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

    fn pacer() -> (AddressPacer, ManualClock) {
        let (clock, manual_clock) = Clock::manual(DateTime::UNIX_EPOCH);
        (AddressPacer::new(clock, SECOND), manual_clock)
    }

    #[test]
    fn projects_that_share_an_address_get_slots_in_turn_and_keep_them() {
        let (pacer, clock) = pacer();
        let (shared, other) = (hook("shared"), hook("other"));
        assert_eq!(pacer.take_slot(&shared, 1), Ok(()));
        assert_eq!(pacer.take_slot(&shared, 2), after(1));
        assert_eq!(pacer.take_slot(&shared, 3), after(2));
        // A repeated request keeps the slot and does not get a second one.
        assert_eq!(pacer.take_slot(&shared, 2), after(1));
        assert_eq!(pacer.take_slot(&other, 2), Ok(()));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(pacer.take_slot(&shared, 3), after(2));
        assert_eq!(pacer.take_slot(&shared, 2), Ok(()));
        assert_eq!(pacer.take_slot(&shared, 1), after(3));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(pacer.take_slot(&shared, 3), Ok(()));
    }

    #[test]
    fn a_late_project_keeps_the_interval_and_an_absent_one_loses_its_slot() {
        let (pacer, clock) = pacer();
        let shared = hook("shared");
        assert_eq!(pacer.take_slot(&shared, 1), Ok(()));
        for (project, slot) in [(2, 1), (3, 2), (4, 3)] {
            assert_eq!(pacer.take_slot(&shared, project), after(slot));
        }
        clock.advance(TimeDelta::seconds(5));
        assert_eq!(pacer.take_slot(&shared, 2), Ok(()));
        assert_eq!(pacer.take_slot(&shared, 3), after(6));
        clock.advance(TimeDelta::seconds(1));
        assert_eq!(pacer.take_slot(&shared, 3), Ok(()));
        clock.advance(TimeDelta::minutes(2));
        assert_eq!(pacer.take_slot(&shared, 1), Ok(()));
        let now = 5 + 1 + 120;
        assert_eq!(pacer.take_slot(&shared, 2), after(now + 1));
        assert_eq!(pacer.take_slot(&shared, 4), after(now + 2));
    }

    #[test]
    fn a_retry_after_of_a_shared_address_delays_all_its_projects_in_order() {
        let (pacer, clock) = pacer();
        let shared = hook("shared");
        assert_eq!(pacer.take_slot(&shared, 1), Ok(()));
        assert_eq!(pacer.take_slot(&shared, 2), after(1));
        assert_eq!(pacer.take_slot(&shared, 3), after(2));
        pacer.block(&shared, SECOND * 60);
        pacer.block(&shared, SECOND);
        assert_eq!(pacer.take_slot(&shared, 3), after(61));
        assert_eq!(pacer.take_slot(&shared, 2), after(60));
        assert_eq!(pacer.take_slot(&shared, 1), after(62));
        clock.advance(TimeDelta::seconds(60));
        assert_eq!(pacer.take_slot(&shared, 2), Ok(()));
        pacer.block(&shared, Duration::MAX);
        assert_eq!(pacer.take_slot(&shared, 3), after(60 + 3_600));
    }

    #[test]
    fn busy_projects_share_an_address_evenly() {
        for projects in 2..=20 {
            let (pacer, clock) = pacer();
            let shared = hook("shared");
            let mut due: Vec<(NaiveDateTime, usize)> = (0..projects)
                .map(|project| (pacer.clock.now_naive(), project))
                .collect();
            let (mut sent, mut requests) = (vec![0; projects], 0);
            while sent.iter().sum::<i32>() < 2_000 {
                // Requests are always a little late, and of several at once the same one is first.
                due.sort_unstable();
                let (at, project) = due[0];
                let now = pacer.clock.now_naive();
                clock.advance((at - now).max(TimeDelta::zero()) + TimeDelta::milliseconds(7));
                requests += 1;
                due[0].0 = match pacer.take_slot(&shared, i64::try_from(project).unwrap_or(0)) {
                    Ok(()) => {
                        sent[project] += 1;
                        pacer.clock.now_naive() + TimeDelta::seconds(1)
                    }
                    Err(slot) => slot,
                };
            }
            let (least, most) = (sent.iter().min(), sent.iter().max());
            assert!(least.map(|least| least + 2) >= most.copied(), "{sent:?}");
            assert!(requests <= 2_000 * 4, "{projects} asked {requests} times");
        }
    }

    #[test]
    fn a_room_is_a_separate_address_for_each_access_token() {
        let (pacer, _clock) = pacer();
        let room = |token: &str| ChatDestination {
            provider: ChatProvider::Matrix,
            address: ChatAddress::Room {
                homeserver_url: "https://matrix.example".to_owned(),
                room_id: "!a:matrix.example".to_owned(),
                access_token: token.to_owned(),
            },
        };
        assert_eq!(pacer.take_slot(&room("one"), 1), Ok(()));
        assert_eq!(pacer.take_slot(&room("one"), 2), after(1));
        assert_eq!(pacer.take_slot(&room("other"), 3), Ok(()));
    }

    #[test]
    fn addresses_for_which_nobody_waits_are_removed() {
        let (pacer, clock) = pacer();
        pacer.block(&hook("closed"), SECOND * 3_600);
        for n in 0..MAX_ADDRESSES + 10 {
            assert_eq!(pacer.take_slot(&hook(&n.to_string()), 1), Ok(()));
            clock.advance(TimeDelta::milliseconds(200));
        }
        let state = pacer.state.lock().map(|state| state.queues.len());
        assert!(state.is_ok_and(|state| state < MAX_ADDRESSES));
        assert_eq!(pacer.take_slot(&hook("closed"), 2), after(3_600));
    }
}
