//! Compares the local moments of every IANA zone around each of its changes, and the periods of every day, with
//! separate arithmetic.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use chrono::{DateTime, NaiveDate, NaiveDateTime, Offset, TimeZone};
use service_kit::time_zone::Zone;

use super::*;

const DAY: i64 = 86_400;
/// Changes closer together than this count as one.
const STEP: i64 = 9 * DAY;
/// The years 2000 to 2037, in seconds of UTC.
const YEARS: std::ops::Range<i64> = 946_684_800..2_145_916_800;

fn utc(seconds: i64) -> NaiveDateTime {
    DateTime::from_timestamp(seconds, 0).unwrap().naive_utc()
}

/// Returns the current offset from the opposite direction: the one that leads from the local time back to `seconds`.
fn offset_by_local_time(zone: Zone, seconds: i64, guess: i32) -> Option<i32> {
    let local = utc(seconds + i64::from(guess));
    let candidates = zone.from_local_datetime(&local);
    let all = [candidates.earliest(), candidates.latest()];
    let own = all
        .into_iter()
        .flatten()
        .find(|candidate| candidate.timestamp() == seconds)?;
    Some(own.offset().fix().local_minus_utc())
}

/// Converts days since the first of January 1970 to year, month and day.
fn civil(days: i64) -> (i64, i64, i64) {
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    // The first of January 2000 is day 10,957.
    let (mut year, mut left) = (2000, days - 10_957);
    while left < 0 {
        year -= 1;
        left += 365 + i64::from(is_leap(year));
    }
    while left >= 365 + i64::from(is_leap(year)) {
        left -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

fn date(days: i64) -> NaiveDate {
    let (year, month, day) = civil(days);
    let small = |number: i64| u32::try_from(number).unwrap();
    NaiveDate::from_ymd_opt(i32::try_from(year).unwrap(), small(month), small(day)).unwrap()
}

fn check(zone: Zone, seconds: i64) {
    let got = local_moment(utc(seconds), zone);
    assert_eq!(
        offset_by_local_time(zone, seconds, got.offset),
        Some(got.offset),
        "{} at {seconds}",
        zone.name()
    );
    let local = seconds + i64::from(got.offset);
    let hour = local.rem_euclid(DAY) / 3_600;
    assert_eq!(i64::from(got.hour), hour, "{} at {seconds}", zone.name());
    assert_eq!(
        got.day,
        date(local.div_euclid(DAY)),
        "{} at {seconds}",
        zone.name()
    );
}

/// Returns the seconds at which the zone's offset changes, found by bisection.
fn changes(zone: Zone) -> Vec<i64> {
    let offset = |seconds: i64| local_moment(utc(seconds), zone).offset;
    let mut found = Vec::new();
    let mut from = YEARS.start;
    let mut before = offset(from);
    while from < YEARS.end {
        let until = from + STEP;
        let after = offset(until);
        if before != after {
            let (mut low, mut high) = (from, until);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if offset(middle) == before {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            found.push(high);
        }
        (from, before) = (until, after);
    }
    found
}

#[test]
fn every_zone_has_the_right_date_and_hour_around_each_clock_change() {
    let mut seen = 0;
    for zone in Zone::all() {
        for change in changes(zone) {
            seen += 1;
            for seconds in [
                -DAY, -3_601, -3_600, -1, 0, 1, 1_799, 3_599, 3_600, 7_200, DAY,
            ] {
                check(zone, change + seconds);
            }
            // The midnights on either side, by the local clock.
            for near in [change - 1, change] {
                let local = near + i64::from(local_moment(utc(near), zone).offset);
                for midnight in [0, DAY] {
                    let away = midnight - local.rem_euclid(DAY);
                    check(zone, near + away - 1);
                    check(zone, near + away);
                }
            }
        }
        for year in 0..38 {
            check(zone, YEARS.start + year * 31_556_952);
        }
    }
    assert!(
        seen > 10_000,
        "{seen} changes of {} zones",
        Zone::all().count()
    );
}

#[test]
fn the_periods_of_every_day_contain_the_right_dates() {
    // The fifth of January 1970 was a Monday.
    let monday_of = |days: i64| days - (days - 4).rem_euclid(7);
    for days in YEARS.start / DAY..YEARS.end / DAY {
        let periods = Periods::new(date(days));
        let monday = monday_of(days);
        assert_eq!(periods.today, date(days));
        assert_eq!(periods.week, (date(monday), date(monday + 6)));
        let (year, month, day) = civil(days);
        let first = days - day + 1;
        let mut last = days;
        while civil(last + 1).1 == month {
            last += 1;
        }
        assert_eq!(periods.month, (date(first), date(last)), "{year}-{month}");
        for (other, in_month) in [
            (first - 1, false),
            (first, true),
            (last, true),
            (last + 1, false),
        ] {
            assert_eq!(periods.in_month(date(other)), in_month);
        }
        for (other, in_week) in [
            (monday - 1, false),
            (monday, true),
            (monday + 6, true),
            (monday + 7, false),
        ] {
            assert_eq!(periods.in_week(date(other)), in_week);
        }
    }
}
