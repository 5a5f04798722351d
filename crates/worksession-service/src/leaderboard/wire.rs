use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::model::LeaderboardRow;
use crate::error::Error;
use crate::pagination::page_size;
use crate::rules::points::Points;

/// Which leaderboard, and which page of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LeaderboardQuery {
    /// The period in UTC: `day`, `week` (default), `month` or `all`.
    #[param(inline, value_type = Option<Period>)]
    period: Option<String>,
    /// The slug of a team, to rank its members on its projects. Defaults to everybody who opted in.
    pub(super) team: Option<String>,
    /// The number of entries, 1 to 200. Defaults to 50.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
    /// `next_cursor` of the previous page.
    pub(super) cursor: Option<String>,
}

impl LeaderboardQuery {
    /// Returns the requested period.
    ///
    /// # Errors
    /// 400 for an unknown period.
    pub(super) fn period(&self) -> Result<Period, Error> {
        let name = self.period.as_deref().unwrap_or("week");
        let periods = [Period::Day, Period::Week, Period::Month, Period::All];
        let period = periods.into_iter().find(|period| period.name() == name);
        period.ok_or_else(|| Error::invalid("period must be one of day, week, month, all"))
    }

    /// Returns the requested number of entries.
    ///
    /// # Errors
    /// 400 unless it is a number from 1 to 200.
    pub(super) fn limit(&self) -> Result<usize, Error> {
        let limit = self.limit.as_deref().map(|text| text.parse().unwrap_or(0));
        usize::try_from(page_size(limit)?).map_err(Error::internal)
    }
}

/// A period in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Period {
    Day,
    /// Monday to Sunday.
    Week,
    Month,
    /// All time.
    All,
}

impl Period {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::All => "all",
        }
    }
}

/// A user on a leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Entry {
    /// The rank, from 1. Among users with equal points, the one who reached them first ranks higher.
    pub(super) rank: usize,
    pub(super) user_id: UserId,
    username: String,
    points: Points,
    /// Credited minutes.
    minutes: i64,
    sessions: i64,
}

impl Entry {
    pub(super) fn new(rank: usize, row: &LeaderboardRow) -> Self {
        Self {
            rank,
            user_id: row.user_id,
            username: row.username.clone(),
            points: Points(row.points),
            minutes: row.minutes,
            sessions: row.sessions,
        }
    }
}

/// A page of a leaderboard, at most ten seconds old.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeaderboardResponse {
    pub(super) success: bool,
    pub(super) period: Period,
    pub(super) entries: Vec<Entry>,
    /// The caller's own entry, on whatever page it is; null if the caller is not on this leaderboard.
    pub(super) me: Option<Entry>,
    /// Null on the last page.
    pub(super) next_cursor: Option<String>,
}
