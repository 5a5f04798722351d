use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::Error;
use crate::rollups::Sums;

/// What to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TrackingQuery {
    /// The first local date, `YYYY-MM-DD`; 29 days before the last when absent.
    #[param(value_type = Option<NaiveDate>)]
    pub(super) from: Option<String>,
    /// The last local date; today when absent. At most 366 days.
    #[param(value_type = Option<NaiveDate>)]
    pub(super) to: Option<String>,
    /// `day` (when absent), `week`, `hour`, `category` or `project`.
    #[param(inline, value_type = Option<Group>)]
    pub(super) group: Option<String>,
}

/// By what the range is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// Local dates.
    Day,
    /// ISO weeks.
    Week,
    /// Local hours, all days together.
    Hour,
    Category,
    Project,
}

impl Group {
    /// Reads the parameter.
    ///
    /// # Errors
    /// 400 for any other text.
    pub(super) fn read(text: Option<&str>) -> Result<Self, Error> {
        let groups = [
            Self::Day,
            Self::Week,
            Self::Hour,
            Self::Category,
            Self::Project,
        ];
        let name = text.unwrap_or("day");
        let named = groups.into_iter().find(|group| group.name() == name);
        named.ok_or_else(|| {
            Error::invalid("group must be one of day, week, hour, category, project")
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Hour => "hour",
            Self::Category => "category",
            Self::Project => "project",
        }
    }
}

/// A part of the range.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Bucket {
    /// `2026-11-21`, `2026-W47`, `0` to `23`, the category, or `team_N`, `personal_N`, `none`.
    key: String,
    #[serde(flatten)]
    worked: Sums,
}

impl Bucket {
    pub(super) fn new(key: String, sums: Sums) -> Self {
        Self { key, worked: sums }
    }
}

/// The range divided.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrackingResponse {
    pub(super) success: bool,
    pub(super) from: NaiveDate,
    pub(super) to: NaiveDate,
    pub(super) group: Group,
    /// The user's time zone now; each session's day is that of the zone at its start.
    pub(super) timezone: String,
    /// Days, weeks and hours in order, empty ones too; at most 200 categories or projects, most minutes first. Of one
    /// day 200 are told apart, and what comes after them counts as `other`.
    pub(super) buckets: Vec<Bucket>,
    /// All of the range.
    pub(super) totals: Sums,
}
