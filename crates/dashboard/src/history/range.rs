use chrono::{DateTime, Datelike, Days, NaiveDate, Utc};

use crate::text::TimeFormatter;

/// Days of the calendar: those of a leap year, so that it contains every date.
const YEAR: u64 = 366;
/// Whole weeks before the current one.
const WEEKS: u64 = 25;

/// The ranges of local dates that the statistics cover.
pub(super) struct Ranges {
    pub(super) today: NaiveDate,
    /// Days of the breakdowns: 30, 90 or 365.
    pub(super) days: u64,
}

impl Ranges {
    pub(super) const CHOICES: [u64; 3] = [30, 90, 365];

    /// Creates the ranges for this number of days, or for the smallest that can be chosen.
    pub(super) fn new(now: DateTime<Utc>, zone: TimeFormatter, days: Option<u64>) -> Self {
        let [usual, ..] = Self::CHOICES;
        Self {
            today: zone.date(&now),
            days: days
                .filter(|days| Self::CHOICES.contains(days))
                .unwrap_or(usual),
        }
    }

    /// Returns the query for the days of the calendar.
    pub(super) fn year(&self) -> String {
        self.query("day", self.back(YEAR - 1))
    }

    /// Returns the query for the last weeks, from a Monday on.
    pub(super) fn weeks(&self) -> String {
        let since = u64::from(self.today.weekday().num_days_from_monday());
        self.query("week", self.back(WEEKS * 7 + since))
    }

    /// Returns the query for a breakdown of the chosen days.
    pub(super) fn split(&self, group: &str) -> String {
        self.query(group, self.back(self.days - 1))
    }

    fn back(&self, days: u64) -> NaiveDate {
        self.today
            .checked_sub_days(Days::new(days))
            .unwrap_or(self.today)
    }

    fn query(&self, group: &str, from: NaiveDate) -> String {
        format!(
            "/api/analytics/tracking?group={group}&from={from}&to={}",
            self.today
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranges_end_on_the_readers_today() {
        let now = "2026-11-25T23:30:00Z".parse().expect("a time");
        let ranges = Ranges::new(now, TimeFormatter::new("Asia/Tokyo"), Some(31));
        assert_eq!(ranges.days, 30);
        assert!(
            ranges
                .year()
                .ends_with("group=day&from=2025-11-26&to=2026-11-26")
        );
        // A Monday, 25 weeks before that of the 26th.
        assert!(
            ranges.weeks().contains("from=2026-06-01"),
            "{}",
            ranges.weeks()
        );
        assert!(ranges.split("hour").contains("group=hour&from=2026-10-28"));
    }
}
