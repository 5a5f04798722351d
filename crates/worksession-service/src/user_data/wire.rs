use serde::Serialize;
use utoipa::ToSchema;

use super::load::LoadedUserData;
use crate::auth::CurrentUser;
use crate::preferences::Preferences;
use crate::rollups::{PointsSummary, SessionStats, StreakSummary};

/// A user's profile and productivity data.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserData {
    /// The user id as a text.
    #[serde(rename = "userId")]
    user_id: String,
    username: String,
    /// The address, which may be a placeholder. Empty for a token that may not see it, and for an OAuth client in
    /// place of a placeholder.
    email: String,
    /// An IANA time zone.
    timezone: String,
    points: PointsSummary,
    streaks: StreakSummary,
    /// In the order in which they were earned.
    badges: Vec<String>,
    preferences: Preferences,
    session_stats: SessionStats,
}

impl UserData {
    pub(super) fn new(user: &CurrentUser, loaded: LoadedUserData) -> Self {
        Self {
            user_id: user.id.to_string(),
            username: user.username.clone(),
            email: user.visible_email().unwrap_or_default().to_owned(),
            timezone: loaded.settings.timezone,
            points: PointsSummary::from(&loaded.totals),
            streaks: StreakSummary::new(&loaded.totals, loaded.today, loaded.now),
            badges: loaded.totals.badges().map(str::to_owned).collect(),
            preferences: loaded.settings.preferences,
            session_stats: loaded.totals.into(),
        }
    }
}
