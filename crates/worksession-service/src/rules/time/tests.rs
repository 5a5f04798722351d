#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
use super::*;

fn at(text: &str) -> NaiveDateTime {
    parse_instant(text).unwrap()
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
fn an_instant_falls_on_the_date_of_its_time_zone() {
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
    let new_year = Periods::new(day("2027-01-01"));
    assert_eq!(new_year.week, (day("2026-12-28"), day("2027-01-03")));
    assert_eq!(new_year.month, (day("2027-01-01"), day("2027-01-31")));
    let leap = Periods::new(day("2028-02-29"));
    assert_eq!(leap.month, (day("2028-02-01"), day("2028-02-29")));
    assert_eq!(Periods::new(day("2026-12-31")).month.1, day("2026-12-31"));
    assert!(leap.in_month(day("2028-02-01")) && !leap.in_month(day("2028-03-01")));
    assert!(new_year.in_week(day("2026-12-31")) && !new_year.in_week(day("2026-12-27")));
}
