//! How pages show times, durations and points. Functions accept the references of templates and the values of handlers.

use std::borrow::Borrow;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;

/// The time zone of the preferences, in which a user sees times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeFormatter(Tz);

impl TimeFormatter {
    /// Returns the zone of this name, or UTC if the name is unknown.
    pub(crate) fn of(timezone: &str) -> Self {
        Self(timezone.parse().unwrap_or(Tz::UTC))
    }

    /// Formats the time, such as `14:05`.
    pub(crate) fn time(self, at: &DateTime<Utc>) -> String {
        at.with_timezone(&self.0).format("%H:%M").to_string()
    }

    pub(crate) fn date(self, at: &DateTime<Utc>) -> NaiveDate {
        at.with_timezone(&self.0).date_naive()
    }

    /// Returns the first moment of a local date; if the clocks skip midnight, the next hour.
    pub(crate) fn midnight(self, date: NaiveDate) -> DateTime<Utc> {
        let midnight = date.and_time(NaiveTime::MIN);
        let hours = (0..24).filter_map(|hour| {
            let at = midnight + TimeDelta::hours(hour);
            self.0.from_local_datetime(&at).earliest()
        });
        let first = hours.map(|at| at.with_timezone(&Utc)).next();
        first.unwrap_or_else(|| midnight.and_utc())
    }

    /// Formats the day, such as `Monday, 23 November`.
    pub(crate) fn day(self, at: &DateTime<Utc>) -> String {
        at.with_timezone(&self.0).format("%A, %-d %B").to_string()
    }

    /// Formats the date and time, such as `23 November 2026, 14:05`.
    pub(crate) fn moment(self, at: &DateTime<Utc>) -> String {
        let local = at.with_timezone(&self.0);
        local.format("%-d %B %Y, %H:%M").to_string()
    }
}

/// Formats a time for scripts.
pub(crate) fn machine(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Formats a time as the services do, to the microsecond.
pub(crate) fn exact(at: &DateTime<Utc>) -> String {
    at.to_rfc3339_opts(chrono::SecondsFormat::Micros, true)
}

/// Formats minutes and seconds, such as `24:05`, and hours if there are any.
pub(crate) fn countdown(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Formats a duration, such as `45 min` or `3 h 20 min`.
pub(crate) fn minutes(minutes: impl Borrow<i64>) -> String {
    let minutes = *minutes.borrow();
    match (minutes / 60, minutes % 60) {
        (0, rest) => format!("{rest} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, rest) => format!("{hours} h {rest} min"),
    }
}

/// Formats points with at most two decimals, as they are counted.
pub(crate) fn points(points: impl Borrow<f64>) -> String {
    let text = format!("{:.2}", points.borrow());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a number with its noun, such as `1 session` and `2 sessions`.
pub(crate) fn count(number: impl Borrow<i64>, noun: &str) -> String {
    match *number.borrow() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// Returns the name of a badge, and what it is for.
pub(crate) fn badge(id: &str) -> (&str, &'static str) {
    let known = BADGES.iter().find(|(known, ..)| *known == id);
    known.map_or((id, ""), |(_, name, what)| (*name, *what))
}

const BADGES: [(&str, &str, &str); 10] = [
    (
        "first_session",
        "First session",
        "the first one that was completed",
    ),
    ("streak_7", "A week in a row", "seven days of work in a row"),
    (
        "streak_30",
        "A month in a row",
        "thirty days of work in a row",
    ),
    (
        "streak_100",
        "A hundred days",
        "a hundred days of work in a row",
    ),
    ("sessions_100", "A hundred sessions", "a hundred sessions"),
    (
        "sessions_1000",
        "A thousand sessions",
        "a thousand sessions",
    ),
    ("hours_100", "A hundred hours", "a hundred credited hours"),
    (
        "early_bird",
        "Early bird",
        "a session completed that began before seven in the morning",
    ),
    (
        "night_owl",
        "Night owl",
        "a session completed that began after ten in the evening",
    ),
    (
        "perfect_week",
        "Perfect week",
        "work on all seven days of a week",
    ),
];

/// Returns the label of a session's status.
pub(crate) fn status(name: &str) -> &str {
    match name {
        "running" => "Running",
        "awaiting_submit" => "Waits for your note",
        "completed" => "Completed",
        "partial" => "Partial",
        "abandoned" => "Given up",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_points_read_as_people_write_them() {
        assert_eq!(countdown(1_445), "24:05");
        assert_eq!(countdown(-3), "00:00");
        assert_eq!(countdown(3_661), "1:01:01");
        assert_eq!([45, 60, 200].map(minutes), ["45 min", "1 h", "3 h 20 min"]);
        assert_eq!([2.5, 0.1, 10.0, 0.0].map(points), ["2.5", "0.1", "10", "0"]);
        assert_eq!(count(1, "session"), "1 session");
    }

    #[test]
    fn times_are_those_of_the_readers_zone() {
        let at = "2026-11-23T23:30:00Z".parse().expect("a time");
        assert_eq!(
            TimeFormatter::of("Europe/Berlin").moment(&at),
            "24 November 2026, 00:30"
        );
        assert_eq!(TimeFormatter::of("nowhere").time(&at), "23:30");
    }
}
