//! Reference streaks: computed from the list of sessions, date by date. This is slow, and shares no code with what it
//! is compared with. The tests of the whole service read this file too.

use std::collections::BTreeMap;

use chrono::{NaiveDate, NaiveDateTime, TimeDelta};

/// A submitted session. Lists have the order of the submits.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// UTC.
    pub at: NaiveDateTime,
    /// Seconds east of UTC, where the user was.
    pub offset: i32,
    /// Credited minutes.
    pub minutes: i32,
}

/// Returns each date that counts, with the length of the streak that ends on it.
pub fn streaks(sessions: &[Session]) -> BTreeMap<NaiveDate, i32> {
    let dates = || {
        sessions
            .iter()
            .map(|session| date_of(session.at, session.offset))
    };
    let mut streaks = BTreeMap::new();
    let (Some(first), Some(last)) = (dates().min(), dates().max()) else {
        return streaks;
    };
    let mut length = 0;
    for date in first.iter_days().take_while(|date| *date <= last) {
        if counts(sessions, date) {
            length += 1;
            streaks.insert(date, length);
        } else if !lost_on_a_journey(sessions, date) {
            length = 0;
        }
    }
    streaks
}

/// Returns the streak that multiplies a session on `date`: with that date if it counts, else the one it would continue.
pub fn streak_on(sessions: &[Session], date: NaiveDate) -> i32 {
    let streaks = streaks(sessions);
    let of = |date: Option<NaiveDate>| date.and_then(|date| streaks.get(&date).copied());
    let before = date.pred_opt();
    of(Some(date))
        .or_else(|| of(before))
        .or_else(|| {
            let lost = before.filter(|before| is_crossed(sessions, *before))?;
            of(lost.pred_opt())
        })
        .unwrap_or(0)
}

/// Returns the longest streak.
pub fn longest(sessions: &[Session]) -> i32 {
    streaks(sessions).into_values().max().unwrap_or(0)
}

/// Returns the streak at `now` (UTC), `offset` seconds east of UTC: that of a counted date from today on, else the one that a
/// session would continue if it started now.
pub fn current(sessions: &[Session], now: NaiveDateTime, offset: i32) -> i32 {
    let today = date_of(now, offset);
    match streaks(sessions).into_iter().next_back() {
        Some((date, length)) if date >= today => length,
        _ => {
            let is_past = |session: &&Session| date_of(session.at, session.offset) < today;
            let mut sessions: Vec<_> = sessions.iter().filter(is_past).copied().collect();
            sessions.push(Session {
                at: now,
                offset,
                minutes: 10,
            });
            streaks(&sessions)
                .get(&today)
                .map_or(0, |length| length - 1)
        }
    }
}

/// Whether the date has the ten minutes that make it count.
fn counts(sessions: &[Session], date: NaiveDate) -> bool {
    on(sessions, date)
        .map(|session| session.minutes)
        .sum::<i32>()
        >= 10
}

/// Whether a date between two that count is missing only because the user crossed the date line.
fn lost_on_a_journey(sessions: &[Session], date: NaiveDate) -> bool {
    let neighbours = [date.pred_opt(), date.succ_opt()];
    neighbours
        .into_iter()
        .flatten()
        .all(|date| counts(sessions, date))
        && is_crossed(sessions, date)
}

/// Whether the last start before `date` and the first one after it are less than 36 hours apart. In the zone of the
/// former, the latter must not be after `date`.
fn is_crossed(sessions: &[Session], date: NaiveDate) -> bool {
    let (mut left, mut arrived): (Option<Session>, Option<Session>) = (None, None);
    for session in date
        .pred_opt()
        .into_iter()
        .flat_map(|date| on(sessions, date))
    {
        if left.is_none_or(|left| session.at > left.at) {
            left = Some(session);
        }
    }
    for session in date
        .succ_opt()
        .into_iter()
        .flat_map(|date| on(sessions, date))
    {
        if arrived.is_none_or(|arrived| session.at < arrived.at) {
            arrived = Some(session);
        }
    }
    left.zip(arrived).is_some_and(|(left, arrived)| {
        let seconds = (arrived.at - left.at).num_seconds();
        seconds.abs() < 36 * 3_600 && date_of(arrived.at, left.offset) <= date
    })
}

/// Returns the sessions of the date that have credit.
fn on(sessions: &[Session], date: NaiveDate) -> impl Iterator<Item = Session> {
    let own = move |session: &&Session| {
        session.minutes > 0 && date_of(session.at, session.offset) == date
    };
    sessions.iter().filter(own).copied()
}

fn date_of(at: NaiveDateTime, offset: i32) -> NaiveDate {
    (at + TimeDelta::seconds(offset.into())).date()
}
