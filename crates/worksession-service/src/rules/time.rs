//! How much of a session's time is credited, and to which local day it belongs.

use chrono::{
    DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone,
    Timelike, Utc,
};
use chrono_tz::Tz;

pub(crate) const MAX_SESSION: TimeDelta = TimeDelta::minutes(480);
/// How long after its planned end a session can be submitted.
pub(crate) const OPEN_AFTER_PLANNED_END: TimeDelta = TimeDelta::hours(12);
/// How far below its plan a session is still complete: clients and networks round seconds away. A short plan allows at
/// most [`TOLERATED_PART`] of itself, or a chain of short plans would earn more than was worked.
const MAX_TOLERANCE: TimeDelta = TimeDelta::seconds(5);
/// One part in so many: 2 %.
const TOLERATED_PART: i32 = 50;
/// The most credited minutes of a user in one local day.
pub(crate) const DAY_CAP_MINUTES: i32 = 16 * 60;
/// A partial session shorter than this earns no points.
const MIN_PARTIAL: TimeDelta = TimeDelta::minutes(5);

/// How much of its plan a submitted session reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The whole plan was worked.
    Completed,
    /// Less than the plan, but enough for points.
    Partial,
    /// Less than five minutes or less than half of the plan: minutes are credited, points are not.
    Brief,
}

/// The time that the server credits to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    pub(crate) completion: Completion,
    /// Whole minutes, before the day's cap.
    pub(crate) minutes: i32,
}

/// The input of [`credit`]. All times are UTC; intervals are half-open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredTimes {
    /// Planned minutes.
    pub(crate) planned: i32,
    /// The server's start.
    pub(crate) started_at: NaiveDateTime,
    /// When the session ended for the server: at the next start, or when the submit arrived.
    pub(crate) stopped_at: NaiveDateTime,
    pub(crate) client_start: NaiveDateTime,
    pub(crate) client_end: NaiveDateTime,
    /// End of the user's previous session, if there is one.
    pub(crate) previous_end: Option<NaiveDateTime>,
    /// Start of the user's next session, if there is one.
    pub(crate) next_start: Option<NaiveDateTime>,
}

/// Credits the shorter of the client's and the server's duration. The credit never exceeds the plan, and never covers
/// time of the session before or after.
pub(crate) fn credit(measured: &MeasuredTimes) -> Credit {
    let from = measured
        .previous_end
        .map_or(measured.started_at, |end| end.max(measured.started_at));
    let to = measured
        .next_start
        .map_or(measured.stopped_at, |start| start.min(measured.stopped_at));
    let elapsed = (to - from)
        .min(measured.client_end - measured.client_start)
        .max(TimeDelta::zero());
    let planned = TimeDelta::minutes(measured.planned.into());
    if elapsed >= planned - MAX_TOLERANCE.min(planned / TOLERATED_PART) {
        return Credit {
            completion: Completion::Completed,
            minutes: measured.planned,
        };
    }
    let completion = if elapsed < MIN_PARTIAL.max(planned / 2) {
        Completion::Brief
    } else {
        Completion::Partial
    };
    // Shorter than the plan, whose minutes are an i32.
    let minutes = i32::try_from(elapsed.num_minutes()).unwrap_or(measured.planned);
    Credit {
        completion,
        minutes,
    }
}

/// Limits minutes to what still fits into a local day with `already` credited ones.
pub(crate) fn within_day_cap(minutes: i32, already: i32) -> i32 {
    minutes.min(DAY_CAP_MINUTES - already).max(0)
}

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
pub(crate) fn local_moment(at: NaiveDateTime, zone: Tz) -> LocalMoment {
    let local = zone.from_utc_datetime(&at);
    LocalMoment {
        day: local.date_naive(),
        hour: i32::try_from(local.hour()).unwrap_or(0),
        offset: local.offset().fix().local_minus_utc(),
    }
}

/// Returns the zone with that IANA name. A name that this build does not know (from a database of a newer version)
/// reads as UTC.
pub(crate) fn zone(name: &str) -> Tz {
    name.parse().unwrap_or(Tz::UTC)
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
