use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::board::BoardRow;
use crate::error::Error;
use crate::page::page_size;
use crate::rules::points::Points;

/// Which board, and which part of it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LeaderboardQuery {
    /// `day`, `week` (when absent), `month` or `all`; UTC.
    #[param(inline, value_type = Option<Period>)]
    period: Option<String>,
    /// A team's slug: its members on its projects. Everybody who opted in when absent.
    pub(super) team: Option<String>,
    /// 1 to 200 entries; 50 when absent.
    #[param(value_type = Option<i64>, minimum = 1, maximum = 200)]
    limit: Option<String>,
    /// `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
}

impl LeaderboardQuery {
    /// The period asked for.
    ///
    /// # Errors
    /// 400 for any other text.
    pub(super) fn period(&self) -> Result<Period, Error> {
        let name = self.period.as_deref().unwrap_or("week");
        let periods = [Period::Day, Period::Week, Period::Month, Period::All];
        let named = periods.into_iter().find(|period| period.name() == name);
        named.ok_or_else(|| Error::invalid("period must be one of day, week, month, all"))
    }

    /// The entries asked for.
    ///
    /// # Errors
    /// 400 outside 1 to 200.
    pub(super) fn limit(&self) -> Result<usize, Error> {
        let limit = self.limit.as_deref().map(|text| text.parse().unwrap_or(0));
        usize::try_from(page_size(limit)?).map_err(Error::internal)
    }
}

/// A stretch of UTC time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Period {
    Day,
    /// Monday to Sunday.
    Week,
    Month,
    /// Ever.
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

/// A user on the board.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Entry {
    /// From 1; of equal points, who got there first stands higher.
    pub(super) rank: usize,
    pub(super) user_id: UserId,
    username: String,
    points: Points,
    /// Credited.
    minutes: i64,
    sessions: i64,
}

impl Entry {
    pub(super) fn new(rank: usize, row: &BoardRow) -> Self {
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

/// A page of a board, at most ten seconds old.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LeaderboardResponse {
    pub(super) success: bool,
    pub(super) period: Period,
    pub(super) entries: Vec<Entry>,
    /// The caller's own entry, on whatever page it is; null for who is not on this board.
    pub(super) me: Option<Entry>,
    /// Null on the last page.
    pub(super) next_cursor: Option<String>,
}
