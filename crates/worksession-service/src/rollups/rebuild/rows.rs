//! The rollups of a user as rows, to compare and to store.

use std::collections::BTreeMap;

use chrono::{NaiveDate, NaiveDateTime};
use diesel::prelude::*;
use serde::Serialize;

use super::compute::{BoardKey, DayTotals, MonthTotals, Rollups};
use crate::error::Error;
use crate::rules::streaks::Streak;
use crate::schema::{board, user_day, user_month, user_totals};

/// All rollup rows of a user, without the user's id and the version of the totals.
#[derive(Debug)]
pub(super) struct RollupRows {
    pub(super) totals: TotalsRollupRow,
    pub(super) days: BTreeMap<NaiveDate, DayRollupRow>,
    pub(super) months: BTreeMap<NaiveDate, MonthRollupRow>,
    pub(super) hours: BTreeMap<i32, i64>,
    pub(super) categories: BTreeMap<String, i64>,
    pub(super) badges: BTreeMap<String, NaiveDateTime>,
    pub(super) boards: BTreeMap<BoardKey, BoardRollupRow>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_totals)]
pub(super) struct TotalsRollupRow {
    pub(super) points_centi: i64,
    pub(super) sessions: i64,
    pub(super) completed_sessions: i64,
    pub(super) minutes: i64,
    streak_run: i32,
    streak_longest: i32,
    streak_last_day: Option<NaiveDate>,
    streak_last_start: Option<NaiveDateTime>,
    streak_last_offset: Option<i32>,
    pub(super) best_hour: i32,
    pub(super) best_hour_minutes: i64,
    pub(super) favorite_category: String,
    pub(super) favorite_category_minutes: i64,
}

impl TotalsRollupRow {
    pub(super) fn set_streak(&mut self, streak: &Streak) {
        self.streak_run = streak.length;
        self.streak_longest = streak.longest;
        self.streak_last_day = streak.last.map(|last| last.0);
        self.streak_last_start = streak.last.map(|last| last.1.at);
        self.streak_last_offset = streak.last.map(|last| last.1.offset);
    }
}

#[derive(Debug, PartialEq, Eq, Serialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_day)]
pub(super) struct DayRollupRow {
    pub(super) day: NaiveDate,
    sessions: i32,
    minutes: i32,
    points_centi: i64,
    first_start: NaiveDateTime,
    first_offset: i32,
    last_start: NaiveDateTime,
    last_offset: i32,
    by_hour: String,
    by_category: String,
    by_project: String,
}

#[derive(Debug, PartialEq, Eq, Serialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_month)]
pub(super) struct MonthRollupRow {
    pub(super) month: NaiveDate,
    by_day: String,
    by_hour: String,
    by_category: String,
    by_project: String,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = board)]
pub(super) struct BoardRollupRow {
    pub(super) scope: i64,
    pub(super) period: String,
    pub(super) start: NaiveDate,
    pub(super) username: String,
    pub(super) points_centi: i64,
    pub(super) minutes: i64,
    pub(super) sessions: i64,
    pub(super) reached_at: NaiveDateTime,
}

impl BoardRollupRow {
    /// Returns the row with its key.
    pub(super) fn keyed(self) -> (BoardKey, Self) {
        ((self.scope, self.period.clone(), self.start), self)
    }
}

impl TryFrom<Rollups> for RollupRows {
    type Error = Error;

    fn try_from(rollups: Rollups) -> Result<Self, Error> {
        let days = rollups.days.into_iter();
        let months = rollups.months.into_iter();
        Ok(Self {
            totals: rollups.totals,
            days: days
                .map(|(day, totals)| Ok((day, day_row(day, &totals)?)))
                .collect::<Result<_, Error>>()?,
            months: months
                .map(|(month, totals)| Ok((month, month_row(month, &totals)?)))
                .collect::<Result<_, Error>>()?,
            hours: rollups.hours,
            categories: rollups.categories,
            badges: rollups.badges,
            boards: rollups.boards,
        })
    }
}

fn day_row(day: NaiveDate, totals: &DayTotals) -> Result<DayRollupRow, Error> {
    let number = |value: i64| i32::try_from(value).map_err(Error::internal);
    Ok(DayRollupRow {
        day,
        sessions: number(totals.sums.sessions)?,
        minutes: number(totals.sums.minutes)?,
        points_centi: totals.sums.points.0,
        first_start: totals.day.first.at,
        first_offset: totals.day.first.offset,
        last_start: totals.day.last.at,
        last_offset: totals.day.last.offset,
        by_hour: totals.by_hour.to_text()?,
        by_category: totals.by_category.to_text()?,
        by_project: totals.by_project.to_text()?,
    })
}

fn month_row(month: NaiveDate, totals: &MonthTotals) -> Result<MonthRollupRow, Error> {
    Ok(MonthRollupRow {
        month,
        by_day: totals.by_day.to_text()?,
        by_hour: totals.by_hour.to_text()?,
        by_category: totals.by_category.to_text()?,
        by_project: totals.by_project.to_text()?,
    })
}
