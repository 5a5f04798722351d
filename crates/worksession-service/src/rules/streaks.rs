//! Streaks: runs of local days with enough credited time.
//!
//! A day is the local date of a session's start in the zone the user had then, stored and never
//! recomputed. Days are usually submitted in order and then extend a stored [`Streak`]; whatever
//! comes out of order is settled by [`recount`] over all counted days, with the same result.

use chrono::{Days, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};

/// Credited minutes from which a day counts.
pub(crate) const DAY_COUNTS_FROM: i32 = 10;
/// A journey over the date line skips a local date. Starts that are closer than this bridge it.
const DATE_LINE_BRIDGE: TimeDelta = TimeDelta::hours(36);

/// The start of a session and the offset of the user's zone at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// UTC.
    pub(crate) at: NaiveDateTime,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// A local day with its first and last credited session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) date: NaiveDate,
    pub(crate) first: Mark,
    pub(crate) last: Mark,
}

/// What is kept per user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streak {
    /// Length of the run that ends with `last`.
    pub(crate) run: i32,
    /// The longest run there ever was.
    pub(crate) longest: i32,
    /// The latest counted day and the last start in it.
    pub(crate) last: Option<(NaiveDate, Mark)>,
}

/// A streak after a session, and the run that the session's own day stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advanced {
    pub(crate) streak: Streak,
    /// The streak that multiplies the session's points.
    pub(crate) at_session: i32,
}

impl Streak {
    /// The run as of the local date `today`: 0 when neither it nor the day before counts.
    pub(crate) fn current(&self, today: NaiveDate) -> i32 {
        match self.last {
            Some((date, _)) if date + Days::new(1) >= today => self.run,
            _ => 0,
        }
    }

    /// The streak after the session that started at `session`, on `day`, which already holds it;
    /// `counts` says whether the day has enough minutes now. None when only [`recount`] can tell:
    /// a later day counted already, or the day began earlier than it seemed and may follow another.
    pub(crate) fn advance(&self, day: &Day, session: Mark, counts: bool) -> Option<Advanced> {
        let Some((last_date, last_mark)) = self.last else {
            return Some(self.extended(day, counts, 0));
        };
        if day.date < last_date {
            return None;
        }
        if day.date > last_date {
            let run = if follows(last_date, last_mark, day) {
                self.run
            } else {
                0
            };
            return Some(self.extended(day, counts, run));
        }
        if self.run == 1 && day.first == session {
            return None;
        }
        let streak = Self {
            last: Some((day.date, day.last)),
            ..*self
        };
        Some(Advanced {
            streak,
            at_session: self.run,
        })
    }

    fn extended(&self, day: &Day, counts: bool, run_before: i32) -> Advanced {
        if !counts {
            return Advanced {
                streak: *self,
                at_session: run_before,
            };
        }
        let run = run_before + 1;
        let streak = Self {
            run,
            longest: self.longest.max(run),
            last: Some((day.date, day.last)),
        };
        Advanced {
            streak,
            at_session: run,
        }
    }
}

/// The streak over all counted days, which are in order of their dates, and the run at `session`,
/// the day of the session that caused the recount; it is among `counted` if it counts.
pub(crate) fn recount(counted: &[Day], session: &Day) -> Advanced {
    let mut streak = Streak::default();
    let mut at_session = None;
    for day in counted {
        if at_session.is_none() && day.date > session.date {
            at_session = Some(streak.run_before(session));
        }
        streak = streak.extended(day, true, streak.run_before(day)).streak;
        if day.date == session.date {
            at_session = Some(streak.run);
        }
    }
    let at_session = at_session.unwrap_or_else(|| streak.run_before(session));
    Advanced { streak, at_session }
}

impl Streak {
    fn run_before(&self, day: &Day) -> i32 {
        match self.last {
            Some((date, mark)) if follows(date, mark, day) => self.run,
            _ => 0,
        }
    }
}

/// Whether `day` continues a run that ends on `date` with a session at `mark`: the next date, or the
/// one after it if only a change of zone skipped the date between, and the starts lie close enough.
fn follows(date: NaiveDate, mark: Mark, day: &Day) -> bool {
    let next = date + Days::new(1);
    if day.date == next {
        return true;
    }
    day.date == next + Days::new(1)
        && (day.first.at - mark.at).abs() < DATE_LINE_BRIDGE
        && date_at(day.first.at, mark.offset) <= next
}

fn date_at(at: NaiveDateTime, offset: i32) -> NaiveDate {
    // Offsets of the time zone database are all under a day.
    FixedOffset::east_opt(offset).map_or(at.date(), |offset| {
        offset.from_utc_datetime(&at).date_naive()
    })
}

#[cfg(test)]
mod tests {
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
}
