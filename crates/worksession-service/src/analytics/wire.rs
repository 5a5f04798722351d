use chrono::NaiveDate;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::Error;
use crate::rollups::SessionSums;

/// The range of dates, and how to divide it.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TrackingQuery {
    /// The first local date, `YYYY-MM-DD`. Defaults to 29 days before the last one.
    #[param(value_type = Option<NaiveDate>)]
    pub(super) from: Option<String>,
    /// The last local date, `YYYY-MM-DD`. Defaults to today. The range has at most 366 days.
    #[param(value_type = Option<NaiveDate>)]
    pub(super) to: Option<String>,
    /// How to divide the range: `day` (default), `week`, `hour`, `category` or `project`.
    #[param(inline, value_type = Option<Group>)]
    pub(super) group: Option<String>,
}

/// The unit by which a range is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// Local dates.
    Day,
    /// ISO weeks.
    Week,
    /// Hours of the local day, summed over all days.
    Hour,
    Category,
    Project,
}

impl Group {
    /// Parses the query parameter.
    ///
    /// # Errors
    /// 400 for an unknown group.
    pub(super) fn parse(text: Option<&str>) -> Result<Self, Error> {
        let groups = [
            Self::Day,
            Self::Week,
            Self::Hour,
            Self::Category,
            Self::Project,
        ];
        let name = text.unwrap_or("day");
        let group = groups.into_iter().find(|group| group.name() == name);
        group.ok_or_else(|| {
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

/// One part of the range.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Bucket {
    /// A date (`2026-11-21`), ISO week (`2026-W47`), hour (`0` to `23`), category or project (`team_N`, `personal_N`, `none`).
    key: String,
    #[serde(flatten)]
    worked: SessionSums,
}

impl Bucket {
    pub(super) fn new((key, sums): (String, SessionSums)) -> Self {
        Self { key, worked: sums }
    }
}

/// The work in a range, divided into buckets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TrackingResponse {
    pub(super) success: bool,
    pub(super) from: NaiveDate,
    pub(super) to: NaiveDate,
    pub(super) group: Group,
    /// The user's current time zone. A session counts on the date in the zone that applied when it started.
    pub(super) timezone: String,
    /// All days, weeks or hours in order, including empty ones; or up to 200 categories or projects, most minutes first. A
    /// single day distinguishes 200 of them, and counts the others as `other`.
    pub(super) buckets: Vec<Bucket>,
    /// The sums of the whole range.
    pub(super) totals: SessionSums,
}
