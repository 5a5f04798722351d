#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
use std::collections::BTreeMap;

use chrono::NaiveTime;
use proptest::prelude::*;
use service_kit::time_zone::Zone;

use super::reference::{self, Session};
use super::*;
use crate::rules::time::{local_moment, zone};

/// What the service stores per user: every day, its minutes, and the current streak.
#[derive(Default)]
struct User {
    days: BTreeMap<NaiveDate, (i32, StreakDay)>,
    streak: Streak,
    /// The input of the reference.
    sessions: Vec<Session>,
}

impl User {
    fn submit(&mut self, at: NaiveDateTime, zone: Zone, minutes: i32) -> i32 {
        let moment = local_moment(at, zone);
        self.sessions.push(Session {
            at,
            offset: moment.offset,
            minutes,
        });
        let start = LocalInstant {
            at,
            offset: moment.offset,
        };
        let new_day = (
            0,
            StreakDay {
                date: moment.day,
                first: start,
                last: start,
            },
        );
        let (total, day) = self.days.entry(moment.day).or_insert(new_day);
        *total += minutes;
        if at < day.first.at {
            day.first = start;
        }
        if at > day.last.at {
            day.last = start;
        }
        let (counts, day) = (*total >= MIN_COUNTED_MINUTES, *day);
        let advanced = self.streak.advance(&day, start, counts).unwrap_or_else(|| {
            let counted: Vec<_> = self.counted().collect();
            recount(&counted, &day)
        });
        self.streak = advanced.streak;
        advanced.at_session
    }

    fn counted(&self) -> impl Iterator<Item = StreakDay> + '_ {
        self.days
            .values()
            .filter(|(minutes, _)| *minutes >= MIN_COUNTED_MINUTES)
            .map(|(_, day)| *day)
    }
}

fn at(text: &str) -> NaiveDateTime {
    text.parse().unwrap()
}

#[test]
fn a_missed_day_ends_a_streak_and_its_late_submit_restores_it() {
    let mut user = User::default();
    assert_eq!(user.submit(at("2026-11-02T09:00:00"), zone("UTC"), 9), 0);
    assert_eq!(user.submit(at("2026-11-02T10:00:00"), zone("UTC"), 1), 1);
    assert_eq!(user.submit(at("2026-11-03T09:00:00"), zone("UTC"), 5), 1);
    assert_eq!(user.submit(at("2026-11-03T10:00:00"), zone("UTC"), 25), 2);
    let day = |text: &str| text.parse::<NaiveDate>().unwrap();
    let current = |date| {
        user.streak
            .current(day(date), day(date).and_time(NaiveTime::MIN))
    };
    assert_eq!(current("2026-11-03"), 2);
    assert_eq!(current("2026-11-04"), 2);
    assert_eq!(current("2026-11-05"), 0);
    assert_eq!(user.submit(at("2026-11-05T00:00:00"), zone("UTC"), 25), 1);
    assert_eq!((user.streak.length, user.streak.longest), (1, 2));
    // A late submit of the missed day joins the days around it.
    assert_eq!(user.submit(at("2026-11-04T09:00:00"), zone("UTC"), 25), 3);
    assert_eq!((user.streak.length, user.streak.longest), (4, 4));
}

#[test]
fn only_travel_between_time_zones_bridges_a_missed_date() {
    let table = [
        // 24 hours later, but the date line skips Tuesday
        (
            "2026-11-03T06:00:00",
            zone("Pacific/Honolulu"),
            "2026-11-04T06:00:00",
            zone("Pacific/Auckland"),
            2,
        ),
        // from Honolulu straight to Kiritimati: the same time of day, a day later
        (
            "2026-11-03T06:00:00",
            zone("Pacific/Honolulu"),
            "2026-11-04T06:00:00",
            zone("Pacific/Kiritimati"),
            2,
        ),
        // less than 36 hours bridge the date, 36 do not
        (
            "2026-11-02T10:30:00",
            zone("Pacific/Honolulu"),
            "2026-11-03T22:29:59",
            zone("Pacific/Auckland"),
            2,
        ),
        (
            "2026-11-02T10:30:00",
            zone("Pacific/Honolulu"),
            "2026-11-03T22:30:00",
            zone("Pacific/Auckland"),
            1,
        ),
        // no journey, no bridge: one minute more than a day, but Tuesday was missed
        (
            "2026-11-02T23:59:00",
            zone("UTC"),
            "2026-11-04T00:00:00",
            zone("UTC"),
            1,
        ),
        // an hour east shortens Tuesday by an hour, and no more
        (
            "2026-11-02T12:00:00",
            zone("Europe/London"),
            "2026-11-03T23:30:00",
            zone("Europe/Berlin"),
            2,
        ),
        (
            "2026-11-02T12:01:00",
            zone("Europe/London"),
            "2026-11-04T00:00:00",
            zone("Europe/Berlin"),
            1,
        ),
        // three dates apart
        (
            "2026-11-03T09:59:00",
            zone("Pacific/Honolulu"),
            "2026-11-04T21:00:00",
            zone("Pacific/Kiritimati"),
            1,
        ),
        // westward across the line the date comes twice
        (
            "2026-11-03T22:00:00",
            zone("Pacific/Auckland"),
            "2026-11-04T06:00:00",
            zone("Pacific/Honolulu"),
            1,
        ),
    ];
    for (first, from, second, to, expected) in table {
        let mut user = User::default();
        user.submit(at(first), from, 25);
        let today = local_moment(at(second), to).day;
        if today > local_moment(at(first), from).day {
            // What is shown on arrival is what a session then continues.
            let shown = user.streak.current(today, at(second));
            assert_eq!(
                shown,
                expected - 1,
                "{first} {} -> {second} {}",
                from.name(),
                to.name()
            );
        }
        assert_eq!(
            user.submit(at(second), to, 25),
            expected,
            "{first} {} -> {second} {}",
            from.name(),
            to.name()
        );
    }
}

fn zones() -> impl Strategy<Value = Zone> {
    prop_oneof![
        1 => Just(zone("UTC")),
        2 => prop::sample::select(vec![zone("Pacific/Kiritimati"), zone("Pacific/Pago_Pago"), zone("Pacific/Apia")]),
        2 => prop::sample::select(Zone::all().collect::<Vec<_>>()),
    ]
}

/// Days since the start of 1995: 42 years of clock changes, and of zones that moved across the date line.
const YEARS: std::ops::Range<i64> = 0..15_300;

fn moment(day: i64, minute: i64) -> NaiveDateTime {
    at("1995-01-01T00:00:00") + TimeDelta::days(day) + TimeDelta::minutes(minute)
}

/// Seasons with many clock changes, or any other.
fn seasons() -> impl Strategy<Value = i64> {
    let days = |text: &str| (at(text) - at("1995-01-01T00:00:00")).num_days();
    prop_oneof![
        prop::sample::select(vec![
            days("2026-03-01T00:00:00"),
            days("2026-10-15T00:00:00"),
            days("2011-12-10T00:00:00"),
        ]),
        YEARS,
    ]
}

/// Compares all stored values, and the multiplier of the session just submitted, with the reference.
fn agrees(user: &User, multiplier: i32) -> Result<(), TestCaseError> {
    let sessions = &user.sessions;
    let all = reference::streaks(sessions);
    prop_assert_eq!(user.streak.longest, reference::longest(sessions));
    prop_assert_eq!(
        user.streak.length,
        all.values().next_back().copied().unwrap_or(0)
    );
    let last = all.keys().next_back().copied();
    prop_assert_eq!(user.streak.last.map(|last| last.0), last);
    for today in last
        .into_iter()
        .flat_map(|last| (-1..4).map(move |days| last + TimeDelta::days(days)))
    {
        for offset in [-11, 0, 14].map(|hours| hours * 3_600) {
            let noon = today.and_time(NaiveTime::MIN) + TimeDelta::hours(12);
            let now = noon - TimeDelta::seconds(offset.into());
            prop_assert_eq!(
                user.streak.current(today, now),
                reference::current(sessions, now, offset)
            );
        }
    }
    let own = sessions.last().unwrap();
    let date = (own.at + TimeDelta::seconds(own.offset.into())).date();
    prop_assert_eq!(multiplier, reference::streak_on(sessions, date));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Sessions in any order, in any IANA zones, over 40 days of any year.
    #[test]
    fn any_sequence_of_submits_gives_the_reference_streak(
        season in seasons(),
        sessions in prop::collection::vec((0i64..40 * 1440, zones(), 1i32..30), 1..40),
        in_order: bool,
    ) {
        let mut sessions = sessions;
        if in_order {
            sessions.sort_by_key(|session| session.0);
        }
        let mut user = User::default();
        for (minute, zone, minutes) in sessions {
            let multiplier = user.submit(moment(season, minute), zone, minutes);
            agrees(&user, multiplier)?;
        }
    }

    /// A user works each day and travels across the date line in both directions. Some days are missed, and the
    /// submits come in any order.
    #[test]
    fn journeys_across_the_date_line_give_the_reference_streak(
        season in YEARS,
        days in prop::collection::vec((zones(), 0i64..1440, 8i32..14, 0u32..10), 2..14),
        shuffle in prop::collection::vec(any::<u16>(), 14),
    ) {
        let worked = (0..).zip(&days).filter(|(_, day)| day.3 > 0);
        let mut sessions: Vec<_> = worked
            .map(|(number, (zone, minute, minutes, _))| (moment(season + number, *minute), *zone, *minutes))
            .collect();
        let mut order = shuffle.into_iter().cycle();
        sessions.sort_by_cached_key(|_| order.next());
        let mut user = User::default();
        for (start, zone, minutes) in sessions {
            let multiplier = user.submit(start, zone, minutes);
            agrees(&user, multiplier)?;
        }
    }

    /// The order of the submits does not change the final result.
    #[test]
    fn the_order_of_the_submits_does_not_change_the_final_streak(
        season in seasons(),
        sessions in prop::collection::btree_map(0i64..20 * 1440, (zones(), 1i32..30), 1..30),
        shuffle in prop::collection::vec(any::<u16>(), 30),
    ) {
        let mut forwards = User::default();
        for (minute, (zone, minutes)) in &sessions {
            forwards.submit(moment(season, *minute), *zone, *minutes);
        }
        let mut sessions: Vec<_> = sessions.into_iter().collect();
        let mut order = shuffle.into_iter().cycle();
        sessions.sort_by_cached_key(|_| order.next());
        let mut shuffled = User::default();
        for (minute, (zone, minutes)) in sessions {
            shuffled.submit(moment(season, minute), zone, minutes);
        }
        prop_assert_eq!(forwards.streak, shuffled.streak);
    }

    /// Without a journey a streak is a sequence of consecutive dates.
    #[test]
    fn in_one_zone_streaks_are_consecutive_dates(days in prop::collection::vec(0i64..60, 1..60)) {
        let mut user = User::default();
        for day in &days {
            user.submit(at("2026-01-01T12:00:00") + TimeDelta::days(*day), zone("UTC"), 10);
        }
        let longest = (0..60)
            .map(|start| (start..60).take_while(|day| days.contains(day)).count())
            .max();
        prop_assert_eq!(usize::try_from(user.streak.longest).ok(), longest);
    }
}
