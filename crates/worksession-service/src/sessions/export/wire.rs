use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

/// Which sessions to export, and in which format.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// `csv`, `json` or `ics`; `json` by default.
    #[param(pattern = "^(csv|json|ics)$")]
    pub(super) format: Option<String>,
    /// The earliest start: a date (YYYY-MM-DD) in the user's time zone, or an RFC 3339 time.
    pub(super) from: Option<String>,
    /// The latest start: a date (YYYY-MM-DD, inclusive) in the user's time zone, or an RFC 3339 time.
    pub(super) to: Option<String>,
}

/// The file of `format=json`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "documents a file that is written in pieces")]
pub(crate) struct ExportedSessions {
    success: bool,
    /// Oldest first.
    sessions: Vec<crate::sessions::record::SessionRecord>,
}
