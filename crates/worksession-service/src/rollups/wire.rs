use chrono::{NaiveDate, NaiveDateTime};
use serde::Serialize;
use utoipa::ToSchema;

use super::model::UserTotals;
use crate::rules::points::{Points, hundredths};

/// The points of a user, with two decimals.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PointsSummary {
    /// Points of all time.
    total: Points,
    /// Points of the current local day.
    today: Points,
    /// Points of the current ISO week.
    this_week: Points,
    /// Points of the current month.
    this_month: Points,
}

impl From<&UserTotals> for PointsSummary {
    fn from(totals: &UserTotals) -> Self {
        Self {
            total: Points(totals.points),
            today: Points(totals.points_today),
            this_week: Points(totals.points_week),
            this_month: Points(totals.points_month),
        }
    }
}

/// The streaks of a user. A local day is active from ten credited minutes.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StreakSummary {
    /// Active days in a row up to today or yesterday.
    pub(crate) current: i32,
    /// The longest streak of all time.
    longest: i32,
    days_active_this_week: i32,
    days_active_this_month: i32,
}

impl StreakSummary {
    /// Returns the streaks at `now` (UTC), which is on the local date `today`.
    pub(crate) fn new(totals: &UserTotals, today: NaiveDate, now: NaiveDateTime) -> Self {
        Self {
            current: totals.streak().current(today, now),
            longest: totals.streak_longest,
            days_active_this_week: totals.days_week,
            days_active_this_month: totals.days_month,
        }
    }
}

/// Statistics of all submitted sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionStats {
    /// Completed and partial sessions.
    total_sessions: i64,
    /// Credited minutes.
    total_minutes: i64,
    /// Credited minutes per session, with two decimals.
    average_session_length: f64,
    /// The local hour with the most credited minutes, 0 to 23; 0 without any.
    most_productive_hour: i32,
    /// The category with the most credited minutes; empty without any.
    favorite_category: String,
}

impl From<UserTotals> for SessionStats {
    fn from(totals: UserTotals) -> Self {
        let (sessions, minutes) = (totals.sessions, totals.minutes);
        let average = (minutes * 200 + sessions)
            .checked_div(sessions * 2)
            .unwrap_or(0);
        Self {
            total_sessions: sessions,
            total_minutes: minutes,
            average_session_length: hundredths(average),
            most_productive_hour: totals.best_hour,
            favorite_category: totals.favorite_category,
        }
    }
}
