#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
use std::collections::BTreeMap;

use chrono::DateTime;
use chrono_tz::{TZ_VARIANTS, Tz};
use proptest::prelude::*;

use super::*;
use crate::rules::time::local_moment;

/// What the service keeps per user: every day, the minutes in it, and the running streak.
#[derive(Default)]
struct User {
    days: BTreeMap<NaiveDate, (i32, Day)>,
    streak: Streak,
}

impl User {
    fn submit(&mut self, at: NaiveDateTime, zone: Tz, minutes: i32) -> i32 {
        let moment = local_moment(at, zone);
        let mark = Mark {
            at,
            offset: moment.offset,
        };
        let fresh = (
            0,
            Day {
                date: moment.day,
                first: mark,
                last: mark,
            },
        );
        let (total, day) = self.days.entry(moment.day).or_insert(fresh);
        *total += minutes;
        if at < day.first.at {
            day.first = mark;
        }
        if at > day.last.at {
            day.last = mark;
        }
        let (counts, day) = (*total >= DAY_COUNTS_FROM, *day);
        let advanced = self.streak.advance(&day, mark, counts).unwrap_or_else(|| {
            let counted: Vec<_> = self.counted().collect();
            recount(&counted, &day)
        });
        self.streak = advanced.streak;
        advanced.at_session
    }

    fn counted(&self) -> impl Iterator<Item = Day> + '_ {
        self.days
            .values()
            .filter(|(minutes, _)| *minutes >= DAY_COUNTS_FROM)
            .map(|(_, day)| *day)
    }

    /// The slow, obvious reference: for each counted day, walk back as far as the run reaches.
    fn runs(&self) -> Vec<(NaiveDate, i32)> {
        let days: Vec<_> = self.counted().collect();
        let run = |mut index: usize| {
            let mut length = 1;
            while index > 0 && linked(&days[index - 1], &days[index]) {
                length += 1;
                index -= 1;
            }
            length
        };
        days.iter()
            .enumerate()
            .map(|(index, day)| (day.date, run(index)))
            .collect()
    }
}

fn linked(earlier: &Day, later: &Day) -> bool {
    let aware = |mark: Mark| {
        FixedOffset::east_opt(mark.offset)
            .unwrap()
            .from_utc_datetime(&mark.at)
    };
    let (end, start): (DateTime<FixedOffset>, _) = (aware(earlier.last), aware(later.first));
    match (later.date - earlier.date).num_days() {
        1 => true,
        2 => {
            let hours_apart = (start - end).num_seconds().abs() < 36 * 3600;
            let seen_from_the_old_zone = start.with_timezone(end.offset()).date_naive();
            hours_apart && seen_from_the_old_zone <= earlier.date.succ_opt().unwrap()
        }
        _ => false,
    }
}

fn at(text: &str) -> NaiveDateTime {
    text.parse().unwrap()
}

#[test]
fn a_missed_day_ends_a_streak_and_the_next_two_days_hold_its_number() {
    let mut user = User::default();
    assert_eq!(user.submit(at("2026-11-02T09:00:00"), Tz::UTC, 9), 0);
    assert_eq!(user.submit(at("2026-11-02T10:00:00"), Tz::UTC, 1), 1);
    assert_eq!(user.submit(at("2026-11-03T09:00:00"), Tz::UTC, 5), 1);
    assert_eq!(user.submit(at("2026-11-03T10:00:00"), Tz::UTC, 25), 2);
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    assert_eq!(user.streak.current(day("2026-11-03")), 2);
    assert_eq!(user.streak.current(day("2026-11-04")), 2);
    assert_eq!(user.streak.current(day("2026-11-05")), 0);
    assert_eq!(user.submit(at("2026-11-05T00:00:00"), Tz::UTC, 25), 1);
    assert_eq!((user.streak.run, user.streak.longest), (1, 2));
    // submitted late, the missed day joins what it lay between
    assert_eq!(user.submit(at("2026-11-04T09:00:00"), Tz::UTC, 25), 3);
    assert_eq!((user.streak.run, user.streak.longest), (4, 4));
}

#[test]
fn only_a_journey_bridges_a_date() {
    let table = [
        // 24 hours later, but the date line took Tuesday
        (
            "2026-11-03T06:00:00",
            Tz::Pacific__Honolulu,
            "2026-11-04T06:00:00",
            Tz::Pacific__Auckland,
            2,
        ),
        // from Honolulu straight to Kiritimati: the same clock, a day later
        (
            "2026-11-03T06:00:00",
            Tz::Pacific__Honolulu,
            "2026-11-04T06:00:00",
            Tz::Pacific__Kiritimati,
            2,
        ),
        // less than 36 hours bridge, 36 do not
        (
            "2026-11-02T10:30:00",
            Tz::Pacific__Honolulu,
            "2026-11-03T22:29:59",
            Tz::Pacific__Auckland,
            2,
        ),
        (
            "2026-11-02T10:30:00",
            Tz::Pacific__Honolulu,
            "2026-11-03T22:30:00",
            Tz::Pacific__Auckland,
            1,
        ),
        // no journey, no bridge: one minute over a day, but Tuesday was missed
        (
            "2026-11-02T23:59:00",
            Tz::UTC,
            "2026-11-04T00:00:00",
            Tz::UTC,
            1,
        ),
        // an hour east takes an hour of Tuesday, and no more
        (
            "2026-11-02T12:00:00",
            Tz::Europe__London,
            "2026-11-03T23:30:00",
            Tz::Europe__Berlin,
            2,
        ),
        (
            "2026-11-02T12:01:00",
            Tz::Europe__London,
            "2026-11-04T00:00:00",
            Tz::Europe__Berlin,
            1,
        ),
        // three dates on
        (
            "2026-11-03T09:59:00",
            Tz::Pacific__Honolulu,
            "2026-11-04T21:00:00",
            Tz::Pacific__Kiritimati,
            1,
        ),
        // westward over the line the date comes twice
        (
            "2026-11-03T22:00:00",
            Tz::Pacific__Auckland,
            "2026-11-04T06:00:00",
            Tz::Pacific__Honolulu,
            1,
        ),
    ];
    for (first, from, second, to, expected) in table {
        let mut user = User::default();
        user.submit(at(first), from, 25);
        assert_eq!(
            user.submit(at(second), to, 25),
            expected,
            "{first} {from} -> {second} {to}"
        );
    }
}

fn zones() -> impl Strategy<Value = Tz> {
    prop_oneof![
        1 => Just(Tz::UTC),
        2 => prop::sample::select(vec![Tz::Pacific__Kiritimati, Tz::Pacific__Pago_Pago, Tz::Pacific__Apia]),
        2 => prop::sample::select(TZ_VARIANTS.to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Sessions in any order, in any zones of IANA, over 40 days that hold changes of clocks.
    #[test]
    fn any_sequence_of_submits_gives_the_reference_streak(
        season in prop::sample::select(vec!["2026-03-01T00:00:00", "2026-10-15T00:00:00", "2011-12-10T00:00:00"]),
        sessions in prop::collection::vec((0i64..40 * 1440, zones(), 1i32..30), 1..60),
        in_order: bool,
    ) {
        let mut sessions = sessions;
        if in_order {
            sessions.sort_by_key(|session| session.0);
        }
        let mut user = User::default();
        for (minute, zone, minutes) in sessions {
            let start = at(season) + TimeDelta::minutes(minute);
            let multiplier = user.submit(start, zone, minutes);
            let runs = user.runs();
            prop_assert_eq!(user.streak.longest, runs.iter().map(|run| run.1).max().unwrap_or(0));
            prop_assert_eq!(user.streak.run, runs.last().map_or(0, |run| run.1));
            prop_assert_eq!(user.streak.last.map(|last| last.0), runs.last().map(|run| run.0));
            let date = local_moment(start, zone).day;
            if let Some((_, run)) = runs.iter().find(|run| run.0 == date) {
                prop_assert_eq!(multiplier, *run);
            }
        }
    }

    /// Without a journey a streak is nothing but consecutive dates.
    #[test]
    fn in_one_zone_streaks_are_consecutive_dates(days in prop::collection::vec(0i64..60, 1..60)) {
        let mut user = User::default();
        for day in &days {
            user.submit(at("2026-01-01T12:00:00") + TimeDelta::days(*day), Tz::UTC, 10);
        }
        let longest = (0..60)
            .map(|start| (start..60).take_while(|day| days.contains(day)).count())
            .max();
        prop_assert_eq!(usize::try_from(user.streak.longest).ok(), longest);
    }
}
