use chrono::{DateTime, Datelike, Days, Utc};

use super::bodies::TeamActivity;
use crate::text::TimeFormatter;

/// Minutes of a week.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct WeekTotals {
    pub(super) planned: i64,
    pub(super) finished: i64,
}

impl WeekTotals {
    pub(super) fn from_activity(activity: &TeamActivity) -> Self {
        let members = activity.members.iter();
        members.fold(Self::default(), |all, one| Self {
            planned: all.planned + one.planned_minutes,
            finished: all.finished + one.credited_minutes,
        })
    }
}

/// Returns the first moment of the user's current week.
pub(super) fn monday(now: DateTime<Utc>, zone: TimeFormatter) -> DateTime<Utc> {
    let today = zone.date(&now);
    let since = today.weekday().num_days_from_monday();
    let monday = today.checked_sub_days(Days::new(since.into()));
    zone.midnight(monday.unwrap_or(today))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_begins_on_the_readers_monday() {
        let now = "2026-11-22T23:30:00Z".parse().expect("a time");
        let of = |zone| monday(now, TimeFormatter::new(zone)).to_rfc3339();
        assert_eq!(of("UTC"), "2026-11-16T00:00:00+00:00");
        assert_eq!(of("Europe/Berlin"), "2026-11-22T23:00:00+00:00");
    }
}
