use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

/// Which sessions, in which form.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportQuery {
    /// `csv`, `json` or `ics`; `json` when absent.
    #[param(pattern = "^(csv|json|ics)$")]
    pub(super) format: Option<String>,
    /// Started then or later: a date (YYYY-MM-DD) in the user's time zone, or an RFC 3339 time.
    pub(super) from: Option<String>,
    /// Started then or earlier: a date (YYYY-MM-DD) in the user's time zone, or an RFC 3339 time.
    pub(super) to: Option<String>,
}

/// The file of `format=json`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "written piece by piece; this is how it reads")]
pub(crate) struct ExportedSessions {
    success: bool,
    /// Oldest first.
    sessions: Vec<crate::sessions::record::SessionRecord>,
}
