//! Streaks: runs of local days with enough credited time.
//!
//! A day is the local date of a session's start in the zone the user had then, stored and never
//! recomputed. Days are usually submitted in order and then extend a stored [`Streak`]; whatever
//! comes out of order is settled by [`recount`] over all counted days, with the same result.

use chrono::{Days, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};

/// Credited minutes from which a day counts; the `.sql` files of `submit` and `rollups` say the same.
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

impl Day {
    /// The day with one more session in it. `before` is the day as it was and what was credited in it. Sessions that
    /// were credited nothing leave no mark, unless there is no other: then the earliest stands.
    pub(crate) fn with(
        before: Option<(Self, i32)>,
        date: NaiveDate,
        mark: Mark,
        minutes: i32,
    ) -> Self {
        let alone = Self {
            date,
            first: mark,
            last: mark,
        };
        match before {
            None => alone,
            Some((day, 0)) if minutes == 0 => {
                if mark.at < day.first.at {
                    alone
                } else {
                    day
                }
            }
            Some((_, 0)) => alone,
            Some((day, _)) if minutes == 0 => day,
            Some((day, _)) => Self {
                date,
                first: if mark.at < day.first.at {
                    mark
                } else {
                    day.first
                },
                last: if mark.at > day.last.at {
                    mark
                } else {
                    day.last
                },
            },
        }
    }
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

/// [`recount`] once `session` is as it is now; `counts` says whether it has enough minutes. `counted` may hold it as it was.
pub(crate) fn recount_with(counted: &[Day], session: &Day, counts: bool) -> Advanced {
    let mut counted = counted.to_vec();
    if counts {
        counted.retain(|other| other.date != session.date);
        let at = counted.partition_point(|other| other.date < session.date);
        counted.insert(at, *session);
    }
    recount(&counted, session)
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
#[allow(unreachable_pub, reason = "the tests of the whole service read it too")]
mod reference;
#[cfg(test)]
mod tests;
