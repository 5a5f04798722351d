use chrono::{NaiveDate, NaiveDateTime};
use db_kit::json;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Integer, Nullable, Text, Timestamp};
use serde::Serialize;

use crate::rules::streaks::{LocalInstant, Streak};

/// The totals of a user, with the sums of the requested day, week and month. All zero for a user who has never submitted.
#[derive(Debug, Clone, Queryable, Serialize)]
pub(crate) struct UserTotals {
    /// Counts submits and rebuilds.
    pub(crate) version: i64,
    #[serde(rename = "points_centi")]
    pub(crate) points: i64,
    pub(crate) sessions: i64,
    pub(crate) completed_sessions: i64,
    pub(crate) minutes: i64,
    pub(crate) streak_run: i32,
    pub(crate) streak_longest: i32,
    pub(crate) streak_last_day: Option<NaiveDate>,
    #[serde(serialize_with = "json::timestamp")]
    pub(crate) streak_last_start: Option<NaiveDateTime>,
    pub(crate) streak_last_offset: Option<i32>,
    pub(crate) best_hour: i32,
    pub(crate) best_hour_minutes: i64,
    pub(crate) favorite_category: String,
    pub(crate) favorite_category_minutes: i64,
    pub(crate) points_today: i64,
    pub(crate) points_week: i64,
    pub(crate) points_month: i64,
    pub(crate) days_week: i32,
    pub(crate) days_month: i32,
    badges: Option<String>,
}

pub(crate) type UserTotalsSql = (
    BigInt,
    BigInt,
    BigInt,
    BigInt,
    BigInt,
    Integer,
    Integer,
    Nullable<Date>,
    Nullable<Timestamp>,
    Nullable<Integer>,
    Integer,
    BigInt,
    Text,
    BigInt,
    BigInt,
    BigInt,
    BigInt,
    Integer,
    Integer,
    Nullable<Text>,
);

impl UserTotals {
    pub(crate) fn streak(&self) -> Streak {
        let instant = self
            .streak_last_start
            .zip(self.streak_last_offset)
            .map(|(at, offset)| LocalInstant { at, offset });
        Streak {
            length: self.streak_run,
            longest: self.streak_longest,
            last: self.streak_last_day.zip(instant),
        }
    }

    pub(crate) fn set_streak(&mut self, streak: Streak) {
        self.streak_run = streak.length;
        self.streak_longest = streak.longest;
        self.streak_last_day = streak.last.map(|last| last.0);
        self.streak_last_start = streak.last.map(|last| last.1.at);
        self.streak_last_offset = streak.last.map(|last| last.1.offset);
    }

    /// Makes `hour` the best hour if it now has the most minutes. Minutes only grow, so the maximum is the old one or
    /// the hour that grew. Ties go to the earlier hour.
    pub(crate) fn raise_best_hour(&mut self, hour: i32, minutes: i64) {
        let best = self.best_hour_minutes;
        if minutes > best || (minutes == best && hour < self.best_hour) {
            (self.best_hour, self.best_hour_minutes) = (hour, minutes);
        }
    }

    /// Does the same for the favourite category. Ties go to the first in the alphabet.
    pub(crate) fn raise_favorite(&mut self, category: &str, minutes: i64) {
        let most = self.favorite_category_minutes;
        if minutes > most || (minutes == most && category < self.favorite_category.as_str()) {
            category.clone_into(&mut self.favorite_category);
            self.favorite_category_minutes = minutes;
        }
    }

    /// Returns the badge names in the order in which they were earned.
    pub(crate) fn badges(&self) -> impl Iterator<Item = &str> {
        self.badges
            .as_deref()
            .unwrap_or_default()
            .split(',')
            .filter(|name| !name.is_empty())
    }
}
