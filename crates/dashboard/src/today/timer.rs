use chrono::{DateTime, Utc};
use messages::Text;

use crate::assets::CLOCK;
use crate::text::{self, TimeFormatter};

/// A countdown, as `templates/today/timer.html` shows it: right without a script at the moment it was made, and kept right by
/// one.
pub(crate) struct Timer {
    pub(super) starts: String,
    pub(super) ends: String,
    /// In local time.
    pub(super) from: String,
    /// In local time.
    pub(super) to: String,
    /// In minutes and seconds.
    pub(super) left: String,
    pub(super) is_over: bool,
    /// Percent of the time that has passed.
    pub(super) percent: i64,
    /// For the title of the page.
    pub(super) name: String,
    /// The message at the end.
    pub(super) over: Text,
    /// The path of the worker that wakes the script.
    pub(super) clock: &'static str,
}

impl Timer {
    /// Creates the countdown of a span of time as it is now.
    pub(super) fn new(
        span: (DateTime<Utc>, DateTime<Utc>),
        now: DateTime<Utc>,
        zone: TimeFormatter,
        name: String,
        over: Text,
    ) -> Self {
        let (starts, ends) = span;
        let whole = (ends - starts).num_seconds().max(1);
        let left = (ends - now).num_milliseconds();
        // A second that has begun is not over yet.
        let left = (left + 999).div_euclid(1_000);
        Self {
            starts: text::machine(&starts),
            ends: text::machine(&ends),
            from: zone.time(&starts),
            to: zone.time(&ends),
            left: text::countdown(left),
            is_over: left <= 0,
            percent: (100 - 100 * left / whole).clamp(0, 100),
            name,
            over,
            clock: CLOCK.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use messages::t;

    use super::*;

    #[test]
    fn what_is_left_is_rounded_up_and_never_below_nothing() {
        let start = DateTime::UNIX_EPOCH;
        let end = start + TimeDelta::minutes(25);
        let at = |millis| {
            let now = start + TimeDelta::milliseconds(millis);
            let zone = TimeFormatter::new("UTC");
            Timer::new((start, end), now, zone, String::new(), t("today-time-up"))
        };
        assert_eq!((at(0).left.as_str(), at(0).percent), ("25:00", 0));
        assert_eq!(at(1).left, "25:00");
        assert_eq!(at(750_000).percent, 50);
        let last = at(1_499_999);
        assert_eq!((last.left.as_str(), last.is_over), ("00:01", false));
        assert!(at(1_500_000).is_over);
        assert_eq!(
            (at(9_999_999).left.as_str(), at(9_999_999).percent),
            ("00:00", 100)
        );
    }
}
