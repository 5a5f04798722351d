//! Streaks: runs of local days with enough credited time.
//!
//! A day is the local date of a session's start in the user's zone at that time. It is stored and never recomputed.
//! Days that are submitted in order extend a stored [`Streak`]. For any other order [`recount`] computes the same
//! result from all counted days.

use chrono::{Days, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};

/// Credited minutes from which a day counts. The `.sql` files of `submit` and `rollups` repeat the number.
pub(crate) const MIN_COUNTED_MINUTES: i32 = 10;
/// A journey across the date line skips a local date. Two starts less than this apart bridge it.
const DATE_LINE_BRIDGE: TimeDelta = TimeDelta::hours(36);

/// The start of a session, with the offset of the user's zone at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalInstant {
    /// UTC.
    pub(crate) at: NaiveDateTime,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

/// A local day with its first and last credited session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreakDay {
    pub(crate) date: NaiveDate,
    pub(crate) first: LocalInstant,
    pub(crate) last: LocalInstant,
}

impl StreakDay {
    /// Returns the day with one more session. `before` is the day so far, with its credited minutes. Sessions without
    /// credit do not count, unless the day has no other: then the earliest one stays.
    pub(crate) fn with(
        before: Option<(Self, i32)>,
        date: NaiveDate,
        start: LocalInstant,
        minutes: i32,
    ) -> Self {
        let only = Self {
            date,
            first: start,
            last: start,
        };
        match before {
            None => only,
            Some((day, 0)) if minutes == 0 => {
                if start.at < day.first.at {
                    only
                } else {
                    day
                }
            }
            Some((_, 0)) => only,
            Some((day, _)) if minutes == 0 => day,
            Some((day, _)) => Self {
                date,
                first: if start.at < day.first.at {
                    start
                } else {
                    day.first
                },
                last: if start.at > day.last.at {
                    start
                } else {
                    day.last
                },
            },
        }
    }
}

/// The streak that is stored per user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streak {
    /// The number of counted days up to `last`.
    pub(crate) length: i32,
    /// The longest streak of all time.
    pub(crate) longest: i32,
    /// The latest counted day, with the last start in it.
    pub(crate) last: Option<(NaiveDate, LocalInstant)>,
}

/// A streak after a session, and the streak on the session's own day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreakUpdate {
    pub(crate) streak: Streak,
    /// The streak that multiplies the session's points.
    pub(crate) at_session: i32,
}

impl Streak {
    /// Returns the streak at `now` (UTC), which is on the local date `today`: 0 when a session that starts now would not
    /// continue it.
    pub(crate) fn current(&self, today: NaiveDate, now: NaiveDateTime) -> i32 {
        match self.last {
            Some((date, start)) if today <= date || is_continued_by(date, start, today, now) => {
                self.length
            }
            _ => 0,
        }
    }

    /// Returns the streak after the session that started at `session`, on `day`, which already includes it. `counts`
    /// is whether the day now has enough minutes. Returns none if only [`recount`] can tell: a later day counted
    /// already, or the day began earlier than it seemed and may follow another.
    pub(crate) fn advance(
        &self,
        day: &StreakDay,
        session: LocalInstant,
        counts: bool,
    ) -> Option<StreakUpdate> {
        let Some((last_date, _)) = self.last else {
            return Some(self.extend(day, counts, 0));
        };
        if day.date < last_date {
            return None;
        }
        if day.date > last_date {
            return Some(self.extend(day, counts, self.length_before(day)));
        }
        if self.length == 1 && day.first == session {
            return None;
        }
        let streak = Self {
            last: Some((day.date, day.last)),
            ..*self
        };
        Some(StreakUpdate {
            streak,
            at_session: self.length,
        })
    }

    fn extend(&self, day: &StreakDay, counts: bool, length_before: i32) -> StreakUpdate {
        if !counts {
            return StreakUpdate {
                streak: *self,
                at_session: length_before,
            };
        }
        let length = length_before + 1;
        let streak = Self {
            length,
            longest: self.longest.max(length),
            last: Some((day.date, day.last)),
        };
        StreakUpdate {
            streak,
            at_session: length,
        }
    }
}

/// Computes the streak over all counted days, which are in the order of their dates, and the streak on `session`. That is
/// the day of the session that caused the recount, and is among `counted` if it counts.
pub(crate) fn recount(counted: &[StreakDay], session: &StreakDay) -> StreakUpdate {
    let mut streak = Streak::default();
    let mut at_session = None;
    for day in counted {
        if at_session.is_none() && day.date > session.date {
            at_session = Some(streak.length_before(session));
        }
        streak = streak.extend(day, true, streak.length_before(day)).streak;
        if day.date == session.date {
            at_session = Some(streak.length);
        }
    }
    let at_session = at_session.unwrap_or_else(|| streak.length_before(session));
    StreakUpdate { streak, at_session }
}

/// Runs [`recount`] with `session` instead of its older state in `counted`. `counts` is whether it has enough minutes.
pub(crate) fn recount_with(
    counted: &[StreakDay],
    session: &StreakDay,
    counts: bool,
) -> StreakUpdate {
    let mut counted = counted.to_vec();
    if counts {
        counted.retain(|other| other.date != session.date);
        let at = counted.partition_point(|other| other.date < session.date);
        counted.insert(at, *session);
    }
    recount(&counted, session)
}

impl Streak {
    fn length_before(&self, day: &StreakDay) -> i32 {
        match self.last {
            Some((date, start)) if is_continued_by(date, start, day.date, day.first.at) => {
                self.length
            }
            _ => 0,
        }
    }
}

/// Whether the local date `day`, with a first session at `first`, continues a streak that ends on `date` with a session at
/// `start`. It is the next date, or the one after it if only a change of zone skipped a date and the starts are close.
fn is_continued_by(
    date: NaiveDate,
    start: LocalInstant,
    day: NaiveDate,
    first: NaiveDateTime,
) -> bool {
    let next = date + Days::new(1);
    if day == next {
        return true;
    }
    day == next + Days::new(1)
        && (first - start.at).abs() < DATE_LINE_BRIDGE
        && date_at(first, start.offset) <= next
}

fn date_at(at: NaiveDateTime, offset: i32) -> NaiveDate {
    // All offsets of the time zone database are below a day.
    FixedOffset::east_opt(offset).map_or(at.date(), |offset| {
        offset.from_utc_datetime(&at).date_naive()
    })
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the tests of the whole service read it too")]
mod reference;
#[cfg(test)]
mod tests;
