use chrono::NaiveDateTime;
use diesel::prelude::*;
use service_kit::time_zone::Zone;

use super::wire::Preferences;
use crate::columns::SqlOf;
use crate::rules::time::zone;
use crate::schema::user_settings;

/// A user's preferences as stored; [`PreferencesRow::default`] for a user who never changed any.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_settings)]
pub(crate) struct PreferencesRow {
    /// An IANA time zone name.
    pub(crate) timezone: String,
    /// The last change that counts for the limit of one per day.
    pub(crate) timezone_changed_at: Option<NaiveDateTime>,
    #[diesel(embed)]
    pub(crate) preferences: Preferences,
}

pub(crate) type PreferencesSql = SqlOf<PreferencesRow>;

impl Default for PreferencesRow {
    fn default() -> Self {
        Self {
            timezone: Zone::utc().name().to_owned(),
            timezone_changed_at: None,
            preferences: Preferences {
                daily_goal: 8,
                default_duration: 25,
                short_break_duration: 5,
                long_break_duration: 15,
                notification_sound: "bell".to_owned(),
                theme_preference: "system".to_owned(),
                leaderboard_opt_in: false,
            },
        }
    }
}

impl PreferencesRow {
    /// Returns the time zone of the user's local days. Only valid names are stored.
    pub(crate) fn tz(&self) -> Zone {
        zone(&self.timezone)
    }
}

/// The changes of a PUT. Absent fields stay as they are.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = user_settings)]
pub(super) struct PreferencesChanges {
    pub(super) timezone: Option<String>,
    pub(super) timezone_changed_at: Option<NaiveDateTime>,
    pub(super) daily_goal: Option<i32>,
    pub(super) default_duration: Option<i32>,
    pub(super) short_break_duration: Option<i32>,
    pub(super) long_break_duration: Option<i32>,
    pub(super) notification_sound: Option<String>,
    pub(super) theme_preference: Option<String>,
    pub(super) leaderboard_opt_in: Option<bool>,
    pub(super) updated_at: NaiveDateTime,
    pub(super) seq: i64,
}
