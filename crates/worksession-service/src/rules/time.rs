//! What of a session's time is credited, and to which local day it belongs.

use chrono::{
    DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone,
    Timelike, Utc,
};
use chrono_tz::Tz;

/// The longest plan.
pub(crate) const LONGEST_SESSION: TimeDelta = TimeDelta::minutes(480);
/// A session can be submitted until this long after its planned end.
pub(crate) const OPEN_AFTER_PLANNED_END: TimeDelta = TimeDelta::hours(12);
/// A session that is this close to its plan is complete: clients and network round seconds away. A short plan allows
/// [`TOLERATED_PART`] of itself at most: otherwise a chain of short plans earns more than was worked.
const MAX_TOLERANCE: TimeDelta = TimeDelta::seconds(5);
/// One part in so many: 2 %.
const TOLERATED_PART: i32 = 50;
/// Credited minutes of one user in one local day.
pub(crate) const DAY_CAP_MINUTES: i32 = 16 * 60;
/// A partial session shorter than this gives no points.
const MIN_PARTIAL: TimeDelta = TimeDelta::minutes(5);

/// How a submitted session went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The whole plan was worked.
    Completed,
    /// Less than the plan, but enough for points.
    Partial,
    /// Less than five minutes or half of the plan: minutes are credited, points are not.
    Brief,
}

/// The time of a session that the server believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    /// Complete, partial, or too short for points.
    pub(crate) completion: Completion,
    /// Whole minutes, before the day's cap.
    pub(crate) minutes: i32,
}

/// What [`credit`] is computed from. All times are UTC; intervals are half-open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Planned minutes.
    pub(crate) planned: i32,
    /// The server's start.
    pub(crate) started_at: NaiveDateTime,
    /// When the server saw it end: at the next start, or when the submit arrived.
    pub(crate) stopped_at: NaiveDateTime,
    /// What the client says its start was.
    pub(crate) client_start: NaiveDateTime,
    /// What the client says its end was.
    pub(crate) client_end: NaiveDateTime,
    /// End of the user's session before this one, when there is one.
    pub(crate) previous_end: Option<NaiveDateTime>,
    /// Start of the user's session after this one, when there is one.
    pub(crate) next_start: Option<NaiveDateTime>,
}

/// Credits the shorter of the client's and the server's duration, never more than the plan, and
/// never a moment that belongs to the session before or after.
pub(crate) fn credit(measured: &Measured) -> Credit {
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
    // Shorter than the plan, which is an i32 of minutes.
    let minutes = i32::try_from(elapsed.num_minutes()).unwrap_or(measured.planned);
    Credit {
        completion,
        minutes,
    }
}

/// Minutes that still fit into the local day that has `already` credited ones.
pub(crate) fn within_day_cap(minutes: i32, already: i32) -> i32 {
    minutes.min(DAY_CAP_MINUTES - already).max(0)
}

/// Reads an ISO 8601 time with an offset as UTC, cut to microseconds. A time without an offset
/// and one outside the years 1970 to 9999 are none.
pub(crate) fn parse_instant(text: &str) -> Option<NaiveDateTime> {
    // chrono skips white space before a time.
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let parsed = DateTime::parse_from_rfc3339(text)
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%#z"))
        .or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%#z"))
        .ok()?;
    // Through the timestamp, because a leap second is nanoseconds beyond a second in chrono and
    // nothing in SQL.
    let utc = DateTime::<Utc>::from_timestamp_micros(parsed.timestamp_micros())?;
    (1970..=9999).contains(&utc.year()).then(|| utc.naive_utc())
}

/// A moment on the user's own calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalMoment {
    /// The local date.
    pub(crate) day: NaiveDate,
    /// The local hour, 0 to 23.
    pub(crate) hour: i32,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// `at` (UTC) on the calendar of `zone`.
pub(crate) fn local_moment(at: NaiveDateTime, zone: Tz) -> LocalMoment {
    let local = zone.from_utc_datetime(&at);
    LocalMoment {
        day: local.date_naive(),
        hour: i32::try_from(local.hour()).unwrap_or(0),
        offset: local.offset().fix().local_minus_utc(),
    }
}

/// The zone of that IANA name. A name that this build does not know (a database written by a newer
/// one) reads as UTC.
pub(crate) fn zone(name: &str) -> Tz {
    name.parse().unwrap_or(Tz::UTC)
}

/// The day, ISO week and month that hold one local date; both ends belong to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Periods {
    /// The date itself.
    pub(crate) today: NaiveDate,
    /// Monday to Sunday.
    pub(crate) week: (NaiveDate, NaiveDate),
    /// First to last of the month.
    pub(crate) month: (NaiveDate, NaiveDate),
}

impl Periods {
    /// The periods that hold `today`.
    pub(crate) fn of(today: NaiveDate) -> Self {
        Self {
            today,
            week: iso_week(today),
            month: month(today),
        }
    }

    /// Whether `day` lies in the week.
    pub(crate) fn in_week(&self, day: NaiveDate) -> bool {
        self.week.0 <= day && day <= self.week.1
    }

    /// Whether `day` lies in the month.
    pub(crate) fn in_month(&self, day: NaiveDate) -> bool {
        self.month.0 <= day && day <= self.month.1
    }
}

/// Monday and Sunday of the ISO week that holds `day`.
pub(crate) fn iso_week(day: NaiveDate) -> (NaiveDate, NaiveDate) {
    let since_monday = day.weekday().num_days_from_monday();
    let monday = day - Days::new(since_monday.into());
    (monday, monday + Days::new(6))
}

/// The first day of the month that holds `day`.
pub(crate) fn month_of(day: NaiveDate) -> NaiveDate {
    month(day).0
}

fn month(day: NaiveDate) -> (NaiveDate, NaiveDate) {
    let first = day - Days::new(day.day0().into());
    (first, first + Months::new(1) - Days::new(1))
}

#[cfg(test)]
mod every_zone;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
    use super::*;

    fn at(text: &str) -> NaiveDateTime {
        parse_instant(text).unwrap()
    }

    fn plan(planned: i32, client_seconds: i64, server_seconds: i64) -> Measured {
        let start = at("2026-11-20T09:00:00Z");
        Measured {
            planned,
            started_at: start,
            stopped_at: start + TimeDelta::seconds(server_seconds),
            client_start: start,
            client_end: start + TimeDelta::seconds(client_seconds),
            previous_end: None,
            next_start: None,
        }
    }

    #[test]
    fn the_shorter_of_both_clocks_is_credited_and_overrun_is_not() {
        use Completion::{Brief, Completed, Partial};
        let table = [
            // planned, client s, server s, completion, minutes
            (25, 1500, 1500, Completed, 25),
            (25, 1495, 1495, Completed, 25),
            (25, 1494, 1500, Partial, 24),
            (25, 1500, 1494, Partial, 24),
            (25, 86_400, 3600, Completed, 25),
            (25, 1500, 750, Partial, 12),
            (25, 1500, 749, Brief, 12),
            (8, 299, 299, Brief, 4),
            (8, 300, 300, Partial, 5),
            (4, 236, 236, Completed, 4),
            (4, 235, 235, Brief, 3),
            (5, 295, 295, Completed, 5),
            (5, 294, 295, Brief, 4),
            (25, 0, 1500, Brief, 0),
            (25, 1500, -60, Brief, 0),
            (480, 28_800, 28_800, Completed, 480),
            (480, 28_795, 28_795, Completed, 480),
            (480, 28_794, 28_795, Partial, 479),
            (1, 59, 59, Completed, 1),
            (1, 58, 58, Brief, 0),
        ];
        for (planned, client, server, completion, minutes) in table {
            let got = credit(&plan(planned, client, server));
            assert_eq!(
                got,
                Credit {
                    completion,
                    minutes
                },
                "{planned} min, client {client} s, server {server} s"
            );
        }
    }

    #[test]
    fn the_tolerance_is_two_percent_of_a_short_plan() {
        for (planned, missing_ms) in [(1, 1_200), (2, 2_400), (4, 4_800), (5, 5_000), (480, 5_000)]
        {
            let measured = plan(planned, 30_000, 0);
            let complete = |stopped_at| {
                let stopped = Measured {
                    stopped_at,
                    ..measured
                };
                credit(&stopped).completion == Completion::Completed
            };
            let last = measured.started_at + TimeDelta::minutes(planned.into())
                - TimeDelta::milliseconds(missing_ms);
            assert!(complete(last), "{planned}");
            assert!(!complete(last - TimeDelta::milliseconds(1)), "{planned}");
        }
    }

    #[test]
    fn time_of_a_neighbour_is_not_credited_again() {
        let mut measured = plan(25, 1500, 1500);
        measured.previous_end = Some(measured.started_at + TimeDelta::minutes(10));
        assert_eq!(credit(&measured).minutes, 15);
        measured.next_start = Some(measured.started_at + TimeDelta::minutes(12));
        assert_eq!(credit(&measured).minutes, 2);
        measured.next_start = Some(measured.started_at);
        assert_eq!(credit(&measured).minutes, 0);
    }

    #[test]
    fn a_day_takes_sixteen_hours() {
        assert_eq!(within_day_cap(480, 0), 480);
        assert_eq!(within_day_cap(480, 900), 60);
        assert_eq!(within_day_cap(480, 960), 0);
        assert_eq!(within_day_cap(25, 1000), 0);
    }

    #[test]
    fn a_time_needs_an_offset() {
        for good in [
            "2026-11-20T09:00:00Z",
            "2026-11-20T09:00:00z",
            "2026-11-20T10:00:00+01:00",
            "2026-11-20T10:00:00+0100",
            "2026-11-20T10:00+01:00",
            "2026-11-20T04:00:00.000-05:00",
            "2026-11-20T09:00:00.0000001Z",
            "2026-11-20T08:59:60Z",
        ] {
            assert_eq!(
                parse_instant(good),
                Some(at("2026-11-20T09:00:00Z")),
                "{good}"
            );
        }
        for bad in [
            "",
            "2026-11-20",
            "2026-11-20T09:00:00",
            "2026-11-20 09:00",
            " 2026-11-20T09:00:00Z",
            "2026-11-20T09:00:00Z ",
            "2026-13-20T09:00:00Z",
            "2026-02-30T09:00:00Z",
            "2026-11-20T25:00:00Z",
            "1969-12-31T23:59:59Z",
            "+12026-11-20T09:00:00Z",
            "1763628000",
            "now",
        ] {
            assert_eq!(parse_instant(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_moment_falls_on_the_day_of_its_zone() {
        let table = [
            ("2026-11-20T23:30:00Z", "UTC", "2026-11-20", 23, 0),
            (
                "2026-11-20T23:30:00Z",
                "Europe/Berlin",
                "2026-11-21",
                0,
                3600,
            ),
            (
                "2026-11-20T02:00:00Z",
                "America/New_York",
                "2026-11-19",
                21,
                -18_000,
            ),
            (
                "2026-07-01T23:00:00Z",
                "Europe/Berlin",
                "2026-07-02",
                1,
                7200,
            ),
            (
                "2026-11-20T18:20:00Z",
                "Asia/Kathmandu",
                "2026-11-21",
                0,
                20_700,
            ),
            (
                "2026-11-20T10:00:00Z",
                "Pacific/Kiritimati",
                "2026-11-21",
                0,
                50_400,
            ),
            (
                "2026-11-20T10:59:00Z",
                "Pacific/Pago_Pago",
                "2026-11-19",
                23,
                -39_600,
            ),
            // the hour that happens twice
            (
                "2026-10-25T00:30:00Z",
                "Europe/Berlin",
                "2026-10-25",
                2,
                7200,
            ),
            (
                "2026-10-25T01:30:00Z",
                "Europe/Berlin",
                "2026-10-25",
                2,
                3600,
            ),
            ("2026-11-20T23:30:00Z", "Not/AZone", "2026-11-20", 23, 0),
        ];
        for (utc, name, day, hour, offset) in table {
            let expected = LocalMoment {
                day: day.parse().unwrap(),
                hour,
                offset,
            };
            assert_eq!(local_moment(at(utc), zone(name)), expected, "{utc} {name}");
        }
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_the_first() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let new_year = Periods::of(day("2027-01-01"));
        assert_eq!(new_year.week, (day("2026-12-28"), day("2027-01-03")));
        assert_eq!(new_year.month, (day("2027-01-01"), day("2027-01-31")));
        let leap = Periods::of(day("2028-02-29"));
        assert_eq!(leap.month, (day("2028-02-01"), day("2028-02-29")));
        assert_eq!(Periods::of(day("2026-12-31")).month.1, day("2026-12-31"));
        assert!(leap.in_month(day("2028-02-01")) && !leap.in_month(day("2028-03-01")));
        assert!(new_year.in_week(day("2026-12-31")) && !new_year.in_week(day("2026-12-27")));
    }
}
