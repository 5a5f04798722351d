//! Times of the API, and the local day, week and month to which they belong.

use chrono::{
    DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike, Utc,
};
use service_kit::time_zone::Zone;

/// Parses an ISO 8601 time with an offset into UTC, truncated to microseconds. Returns none for a time without an
/// offset or outside the years 1970 to 9999.
pub(crate) fn parse_instant(text: &str) -> Option<NaiveDateTime> {
    // chrono accepts white space before a time.
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let parsed = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%#z"))
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%#z"))
        .ok()?;
    // Through the timestamp: chrono represents a leap second as extra nanoseconds, which SQL cannot store.
    let utc = DateTime::<Utc>::from_timestamp_micros(parsed.timestamp_micros())?;
    (1970..=9999).contains(&utc.year()).then(|| utc.naive_utc())
}

/// A moment on the user's calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalMoment {
    pub(crate) day: NaiveDate,
    /// The local hour, 0 to 23.
    pub(crate) hour: i32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// Converts `at` (UTC) to the calendar of `zone`.
pub(crate) fn local_moment(at: NaiveDateTime, zone: Zone) -> LocalMoment {
    let local = zone.from_utc_datetime(&at);
    LocalMoment {
        day: local.date_naive(),
        hour: i32::try_from(local.hour()).unwrap_or(0),
        offset: local.offset().fix().local_minus_utc(),
    }
}

/// Returns the zone with that IANA name. A name that this process does not know (from a database of a newer version)
/// reads as UTC.
pub(crate) fn zone(name: &str) -> Zone {
    Zone::get(name).unwrap_or(Zone::utc())
}

/// The day, ISO week and month that contain one local date. Both ends are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Periods {
    /// The date itself.
    pub(crate) today: NaiveDate,
    /// Monday to Sunday.
    pub(crate) week: (NaiveDate, NaiveDate),
    /// First to last day of the month.
    pub(crate) month: (NaiveDate, NaiveDate),
}

impl Periods {
    /// Returns the periods that contain `today`.
    pub(crate) fn new(today: NaiveDate) -> Self {
        Self {
            today,
            week: iso_week(today),
            month: month(today),
        }
    }

    /// Returns the names and first days of the leaderboards' periods.
    pub(crate) fn starts(&self) -> [(&'static str, NaiveDate); 4] {
        [
            ("day", self.today),
            ("week", self.week.0),
            ("month", self.month.0),
            ("all", NaiveDate::default()),
        ]
    }

    pub(crate) fn in_week(&self, day: NaiveDate) -> bool {
        self.week.0 <= day && day <= self.week.1
    }

    pub(crate) fn in_month(&self, day: NaiveDate) -> bool {
        self.month.0 <= day && day <= self.month.1
    }
}

/// Returns Monday and Sunday of the ISO week that contains `day`.
pub(crate) fn iso_week(day: NaiveDate) -> (NaiveDate, NaiveDate) {
    let since_monday = day.weekday().num_days_from_monday();
    let monday = day - Days::new(since_monday.into());
    (monday, monday + Days::new(6))
}

/// Returns the first day of the month that contains `day`.
pub(crate) fn month_of(day: NaiveDate) -> NaiveDate {
    month(day).0
}

fn month(day: NaiveDate) -> (NaiveDate, NaiveDate) {
    let first = day - Days::new(day.day0().into());
    (first, first + Months::new(1) - Days::new(1))
}

#[cfg(test)]
mod zone_tests;

#[cfg(test)]
mod tests;
