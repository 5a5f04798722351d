//! How pages show times, durations and points. Functions accept the references of templates and the values of handlers.

use std::borrow::Borrow;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime, TimeDelta, TimeZone as _, Utc};
use messages::{Text, t};
use service_kit::time_zone::Zone;

/// The time zone of the preferences, in which a user sees times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeFormatter(Zone);

impl TimeFormatter {
    /// Returns the zone of this name, or UTC if the name is unknown.
    pub(crate) fn new(timezone: &str) -> Self {
        Self(Zone::get(timezone).unwrap_or(Zone::utc()))
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

    /// Formats the day, such as `Monday, 23 Nov`.
    pub(crate) fn day(self, at: &DateTime<Utc>) -> Text {
        let date = self.date(at);
        with_weekday(date, messages::short_date(date))
    }

    /// Formats the date and time, such as `23 Nov 2026, 14:05`.
    pub(crate) fn moment(self, at: &DateTime<Utc>) -> String {
        let text = t("dashboard-date-time")
            .with("date", messages::date(self.date(at)))
            .with("time", self.time(at));
        text.into()
    }
}

/// Formats the date with its weekday, such as `Monday, 23 Nov 2026`.
pub(crate) fn full_date(date: NaiveDate) -> String {
    with_weekday(date, messages::date(date)).into()
}

fn with_weekday(date: NaiveDate, shown: Text) -> Text {
    let weekday = date.weekday().number_from_monday();
    t("dashboard-day")
        .with("weekday", t("dashboard-weekday").with("weekday", weekday))
        .with("date", shown)
}

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
    let text = match (minutes / 60, minutes % 60) {
        (0, rest) => t("dashboard-minutes").with("minutes", rest),
        (hours, 0) => t("dashboard-hours").with("hours", hours),
        (hours, rest) => t("dashboard-hours-minutes")
            .with("hours", hours)
            .with("minutes", rest),
    };
    text.into()
}

/// Formats points with at most two decimals, as they are counted.
pub(crate) fn points(points: impl Borrow<f64>) -> String {
    let text = format!("{:.2}", points.borrow());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the name of a badge, and what it is for.
pub(crate) fn badge(id: &str) -> (Text, Text) {
    (
        t("sessions-badge").with("badge", id),
        t("sessions-badge-reason").with("badge", id),
    )
}

/// Returns the label of a session's status.
pub(crate) fn status(name: &str) -> Text {
    t("sessions-status").with("status", name)
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
        let days = [1, 2].map(|count| t("dashboard-days").with("count", count));
        assert_eq!(days.map(String::from), ["1 day", "2 days"]);
    }

    #[test]
    fn statuses_and_badges_have_names_and_unknown_ones_their_id() {
        let names = ["awaiting_submit", "new"].map(|name| status(name).to_string());
        assert_eq!(names, ["Not finished", "new"]);
        let texts = |(name, reason): (Text, Text)| format!("{name}: {reason}");
        assert_eq!(
            ["streak_7", "new"].map(badge).map(texts),
            ["7-day streak: Focused 7 days in a row", "new: "]
        );
    }

    #[test]
    fn times_are_those_of_the_readers_zone() {
        let at = "2026-11-23T23:30:00Z".parse().expect("a time");
        assert_eq!(
            TimeFormatter::new("Europe/Berlin").moment(&at),
            "24 Nov 2026, 00:30"
        );
        assert_eq!(
            TimeFormatter::new("UTC").day(&at).to_string(),
            "Monday, 23 Nov"
        );
        assert_eq!(TimeFormatter::new("nowhere").time(&at), "23:30");
    }
}
