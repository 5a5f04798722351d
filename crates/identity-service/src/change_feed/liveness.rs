//! Whether the change feed is alive, that is, whether everything committed until a moment ago has been read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The silence after which the feed counts as down.
const SILENCE: Duration = Duration::from_secs(1);

/// The time until which the feed counts as alive, by two clocks. The monotonic one stops while the machine sleeps,
/// and the wall clock can be set back, so that both must agree.
pub(super) struct FeedLiveness {
    started_at: Instant,
    /// Milliseconds after `started_at`; 0 while the feed is down.
    monotonic: AtomicU64,
    /// Milliseconds since the Unix epoch; 0 while the feed is down.
    wall: AtomicU64,
}

impl FeedLiveness {
    /// Returns the initial state: the feed is down until its first read.
    pub(super) fn new() -> Self {
        Self {
            started_at: ClockReading::now().monotonic,
            monotonic: AtomicU64::new(0),
            wall: AtomicU64::new(0),
        }
    }

    pub(super) fn is_alive_at(&self, moment: ClockReading) -> bool {
        let (monotonic, wall) = self.millis(moment);
        self.monotonic.load(Ordering::Acquire) > monotonic
            && self.wall.load(Ordering::Acquire) > wall
    }

    /// Records that everything committed before `moment` has been read. The feed is alive for [`SILENCE`] from then on.
    pub(super) fn read_until(&self, moment: ClockReading) {
        let (monotonic, wall) = self.millis(moment);
        let silence = millis(SILENCE);
        self.monotonic
            .store(monotonic.saturating_add(silence), Ordering::Release);
        self.wall
            .store(wall.saturating_add(silence), Ordering::Release);
    }

    pub(super) fn mark_down(&self) {
        self.monotonic.store(0, Ordering::Release);
        self.wall.store(0, Ordering::Release);
    }

    fn millis(&self, moment: ClockReading) -> (u64, u64) {
        let wall = moment.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        (
            millis(moment.monotonic.saturating_duration_since(self.started_at)),
            millis(wall),
        )
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The readings of both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockReading {
    pub(super) monotonic: Instant,
    wall: SystemTime,
}

impl ClockReading {
    #[expect(
        clippy::disallowed_methods,
        reason = "this measures silence, not the time of day that tests move"
    )]
    pub(super) fn now() -> Self {
        Self {
            monotonic: Instant::now(),
            wall: SystemTime::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_silence_by_either_clock_counts_as_down() {
        let alive = FeedLiveness::new();
        let read_at = ClockReading::now();
        let later = |monotonic: u64, wall: u64| ClockReading {
            monotonic: read_at.monotonic + Duration::from_millis(monotonic),
            wall: read_at.wall + Duration::from_millis(wall),
        };
        assert!(!alive.is_alive_at(read_at));
        alive.read_until(read_at);
        assert!(alive.is_alive_at(read_at));
        assert!(alive.is_alive_at(later(998, 998)));
        assert!(!alive.is_alive_at(later(1_000, 0)));
        // The machine slept for an hour, and only one of its clocks noticed.
        assert!(!alive.is_alive_at(later(5, 3_600_000)));
        alive.read_until(later(2_000, 2_000));
        assert!(alive.is_alive_at(later(2_100, 2_100)));
        alive.mark_down();
        assert!(!alive.is_alive_at(later(2_100, 2_100)));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_the_feed_up() {
        let alive = FeedLiveness::new();
        let read_at = ClockReading::now();
        alive.read_until(read_at);
        let set_back = ClockReading {
            monotonic: read_at.monotonic + Duration::from_secs(2),
            wall: read_at.wall - Duration::from_secs(60),
        };
        assert!(!alive.is_alive_at(set_back));
    }
}
