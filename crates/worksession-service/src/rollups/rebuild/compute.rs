use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, NaiveDate, NaiveDateTime};

use super::rows::{BoardRollupRow, TotalsRollupRow};
use crate::rollups::breakdown::{Breakdown, SessionSums};
use crate::rollups::leaderboard_retention::oldest_retained;
use crate::rules::badges;
use crate::rules::credit::Completion;
use crate::rules::points::Points;
use crate::rules::streaks::{LocalInstant, MIN_COUNTED_MINUTES, Streak, StreakDay, recount};
use crate::rules::time::{Periods, iso_week, month_of};

/// The columns of a submitted session that its rollups depend on.
#[derive(Debug, Clone, diesel::Queryable)]
pub(super) struct RollupSession {
    pub(super) session_id: String,
    pub(super) username: String,
    pub(super) started_at: NaiveDateTime,
    /// Seconds east of UTC at the start.
    pub(super) offset: i32,
    pub(super) day: NaiveDate,
    pub(super) category: String,
    pub(super) project_id: String,
    pub(super) team_id: Option<i64>,
    pub(super) completed: bool,
    pub(super) minutes: i32,
    pub(super) points: i64,
    pub(super) submitted_at: NaiveDateTime,
    /// Whether the stored boards include the session; `belongs_on_boards` says whether they should.
    pub(super) on_boards: bool,
    pub(super) belongs_on_boards: bool,
}

impl RollupSession {
    fn hour(&self) -> i32 {
        let local = self.started_at.and_utc().timestamp() + i64::from(self.offset);
        i32::try_from(local.rem_euclid(86_400) / 3_600).unwrap_or(0)
    }

    fn sums(&self) -> SessionSums {
        SessionSums {
            sessions: 1,
            minutes: self.minutes.into(),
            points: Points(self.points),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DayTotals {
    pub(super) sums: SessionSums,
    pub(super) day: StreakDay,
    pub(super) by_hour: Breakdown,
    pub(super) by_category: Breakdown,
    pub(super) by_project: Breakdown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MonthTotals {
    pub(super) by_day: Breakdown,
    pub(super) by_hour: Breakdown,
    pub(super) by_category: Breakdown,
    pub(super) by_project: Breakdown,
}

/// Scope, period, and the period's first day.
pub(super) type BoardKey = (i64, String, NaiveDate);

/// All rollups of a user.
#[derive(Debug, Default)]
pub(super) struct Rollups {
    pub(super) totals: TotalsRollupRow,
    streak: Streak,
    pub(super) days: BTreeMap<NaiveDate, DayTotals>,
    pub(super) months: BTreeMap<NaiveDate, MonthTotals>,
    pub(super) hours: BTreeMap<i32, i64>,
    pub(super) categories: BTreeMap<String, i64>,
    pub(super) badges: BTreeMap<String, NaiveDateTime>,
    pub(super) boards: BTreeMap<BoardKey, BoardRollupRow>,
}

/// Computes the rollups of sessions in the order of their submits, with the boards that are retained on `today` (UTC).
pub(super) fn compute(sessions: &[RollupSession], today: NaiveDate) -> Rollups {
    let mut rollups = Rollups::default();
    for session in sessions {
        rollups.add(session, today);
    }
    // Minutes only grow, so the final maximum is the one that the submits arrived at. Ties go to the first key.
    if let Some((hour, minutes)) = largest(&rollups.hours) {
        rollups.totals.best_hour = hour;
        rollups.totals.best_hour_minutes = minutes;
    }
    if let Some((category, minutes)) = largest(&rollups.categories) {
        rollups.totals.favorite_category = category;
        rollups.totals.favorite_category_minutes = minutes;
    }
    rollups.totals.set_streak(&rollups.streak);
    rollups
}

/// Returns the first key with the most minutes; none without any minutes.
fn largest<K: Clone>(minutes: &BTreeMap<K, i64>) -> Option<(K, i64)> {
    let mut best = None;
    for (key, minutes) in minutes {
        if *minutes > best.map_or(0, |(_, most)| most) {
            best = Some((key, *minutes));
        }
    }
    best.map(|(key, minutes)| (key.clone(), minutes))
}

impl Rollups {
    fn add(&mut self, session: &RollupSession, today: NaiveDate) {
        let (sums, hour) = (session.sums(), session.hour());
        self.totals.points_centi += session.points;
        self.totals.sessions += 1;
        self.totals.completed_sessions += i64::from(session.completed);
        self.totals.minutes += sums.minutes;
        *self.hours.entry(hour).or_default() += sums.minutes;
        let category = self.categories.entry(session.category.clone());
        *category.or_default() += sums.minutes;
        self.add_day(session, hour);
        self.add_badges(session, hour);
        if session.belongs_on_boards {
            self.add_boards(session, today);
        }
    }

    fn add_day(&mut self, session: &RollupSession, hour: i32) {
        let instant = LocalInstant {
            at: session.started_at,
            offset: session.offset,
        };
        let before = self.days.get(&session.day).map(|totals| {
            let minutes = i32::try_from(totals.sums.minutes).unwrap_or(i32::MAX);
            (totals.day, minutes)
        });
        let day = StreakDay::with(before, session.day, instant, session.minutes);
        let totals = self.days.entry(session.day).or_insert_with(|| DayTotals {
            sums: SessionSums::default(),
            day,
            by_hour: Breakdown::default(),
            by_category: Breakdown::default(),
            by_project: Breakdown::default(),
        });
        let sums = session.sums();
        totals.sums += sums;
        totals.day = day;
        totals.by_hour.add(&hour.to_string(), sums);
        totals.by_category.add(&session.category, sums);
        totals.by_project.add(&session.project_id, sums);
        let counts = totals.sums.minutes >= MIN_COUNTED_MINUTES.into();
        let month = self.months.entry(month_of(session.day)).or_default();
        month.by_day.add(&session.day.day().to_string(), sums);
        month.by_hour.add(&hour.to_string(), sums);
        month.by_category.add(&session.category, sums);
        month.by_project.add(&session.project_id, sums);
        let advanced = self.streak.advance(&day, instant, counts);
        self.streak = advanced.map_or_else(
            || recount(&self.counted().collect::<Vec<_>>(), &day).streak,
            |advanced| advanced.streak,
        );
    }

    fn counted(&self) -> impl Iterator<Item = StreakDay> + '_ {
        let counts = |day: &&DayTotals| day.sums.minutes >= MIN_COUNTED_MINUTES.into();
        self.days.values().filter(counts).map(|totals| totals.day)
    }

    fn add_badges(&mut self, session: &RollupSession, hour: i32) {
        let (monday, sunday) = iso_week(session.day);
        let week = self.days.range(monday..=sunday);
        let counted = week.filter(|(_, day)| day.sums.minutes >= MIN_COUNTED_MINUTES.into());
        let facts = badges::BadgeFacts {
            completion: match session.completed {
                true => Completion::Completed,
                false => Completion::Partial,
            },
            hour,
            completed_sessions: self.totals.completed_sessions,
            minutes: self.totals.minutes,
            longest_streak: self.streak.longest,
            days_in_week: i32::try_from(counted.count()).unwrap_or(i32::MAX),
        };
        for badge in badges::list_earned(&facts) {
            let entry = self.badges.entry(badge.to_owned());
            entry.or_insert(session.submitted_at);
        }
    }

    fn add_boards(&mut self, session: &RollupSession, today: NaiveDate) {
        let scopes: BTreeSet<i64> = [0].into_iter().chain(session.team_id).collect();
        for (period, start) in Periods::new(session.started_at.date()).starts() {
            if start < oldest_retained(period, today) {
                continue;
            }
            for scope in &scopes {
                let at = session.submitted_at;
                let row = self.boards.entry((*scope, period.to_owned(), start));
                let row = row.or_insert_with(|| BoardRollupRow {
                    scope: *scope,
                    period: period.to_owned(),
                    start,
                    reached_at: at,
                    ..BoardRollupRow::default()
                });
                row.username.clone_from(&session.username);
                // Depends on points, not on the order: submits may commit in another order than they arrived.
                row.reached_at = match (session.points > 0, row.points_centi > 0) {
                    (true, true) => row.reached_at.max(at),
                    (true, false) => at,
                    (false, true) => row.reached_at,
                    (false, false) => row.reached_at.min(at),
                };
                row.points_centi += session.points;
                row.minutes += i64::from(session.minutes);
                row.sessions += 1;
            }
        }
    }
}
