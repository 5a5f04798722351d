use std::borrow::Cow;
use std::ops::RangeInclusive;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use service_kit::time_zone::Zone;
use utoipa::ToSchema;

use super::model::{PreferencesChanges, PreferencesRow};
use crate::error::Error;
use crate::schema::user_settings;
use crate::whole_number::whole_number;

/// Changes to the user's preferences; absent fields stay as they are.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct PutPreferencesRequest {
    /// The goal in sessions per day.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 24)]
    daily_goal: Option<i64>,
    /// The default duration of a session in minutes.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 480)]
    default_duration: Option<i64>,
    /// The duration of a short break in minutes.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 60)]
    short_break_duration: Option<i64>,
    /// The duration of a long break in minutes.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(minimum = 1, maximum = 60)]
    long_break_duration: Option<i64>,
    /// The name of a sound. Holdfast's own are `bell`, `chime`, `digital` and `none`.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    notification_sound: Option<String>,
    /// The name of a theme. Holdfast's own are `light`, `dark` and `system`.
    #[schema(pattern = "^[a-z0-9_-]{1,32}$")]
    theme_preference: Option<String>,
    /// An IANA time zone name. It can change once a day; the first change from the default does not count.
    timezone: Option<String>,
    /// Whether the global leaderboard shows the user.
    leaderboard_opt_in: Option<bool>,
}

impl PutPreferencesRequest {
    /// Checks the limits and returns the changes. The time of a new zone and the change number are not set yet.
    pub(super) fn changes(self, updated_at: NaiveDateTime) -> Result<PreferencesChanges, Error> {
        let (short, long) = (self.short_break_duration, self.long_break_duration);
        Ok(PreferencesChanges {
            daily_goal: check_number("daily_goal", self.daily_goal, 1..=24)?,
            default_duration: check_number("default_duration", self.default_duration, 1..=480)?,
            short_break_duration: check_number("short_break_duration", short, 1..=60)?,
            long_break_duration: check_number("long_break_duration", long, 1..=60)?,
            notification_sound: check_name("notification_sound", self.notification_sound)?,
            theme_preference: check_name("theme_preference", self.theme_preference)?,
            timezone: self.timezone.map(check_timezone).transpose()?,
            timezone_changed_at: None,
            leaderboard_opt_in: self.leaderboard_opt_in,
            updated_at,
            seq: 0,
        })
    }
}

/// The preferences that clients apply instead of fixed defaults.
#[derive(Debug, Clone, Queryable, Selectable, Insertable, Serialize, ToSchema)]
#[diesel(table_name = user_settings)]
pub(crate) struct Preferences {
    /// The goal in sessions per day.
    pub(super) daily_goal: i32,
    /// The default duration of a session in minutes.
    pub(super) default_duration: i32,
    /// The duration of a short break in minutes.
    pub(super) short_break_duration: i32,
    /// The duration of a long break in minutes.
    pub(super) long_break_duration: i32,
    pub(super) notification_sound: String,
    pub(super) theme_preference: String,
    /// Whether the global leaderboard shows the user.
    pub(super) leaderboard_opt_in: bool,
}

/// The current preferences.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CurrentPreferences {
    preferences: Preferences,
    /// An IANA time zone name.
    timezone: String,
}

impl From<PreferencesRow> for CurrentPreferences {
    fn from(row: PreferencesRow) -> Self {
        Self {
            preferences: row.preferences,
            timezone: row.timezone,
        }
    }
}

/// The response to a change of preferences.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreferencesResponse {
    pub(super) success: bool,
    #[serde(flatten)]
    pub(super) current: CurrentPreferences,
}

fn check_number(
    field: &str,
    value: Option<i64>,
    range: RangeInclusive<i32>,
) -> Result<Option<i32>, Error> {
    let Some(value) = value else { return Ok(None) };
    match i32::try_from(value) {
        Ok(value) if range.contains(&value) => Ok(Some(value)),
        _ => {
            let (min, max) = range.into_inner();
            let rule = format!("be a whole number from {min} to {max}");
            Err(invalid(field, &rule))
        }
    }
}

fn check_name(field: &str, value: Option<String>) -> Result<Option<String>, Error> {
    let fits = |name: &String| {
        (1..=32).contains(&name.len())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
    };
    match value {
        Some(name) if !fits(&name) => Err(invalid(
            field,
            "have 1 to 32 characters of a-z, 0-9, _ and -",
        )),
        value => Ok(value),
    }
}

fn check_timezone(name: String) -> Result<String, Error> {
    match Zone::get(&name) {
        Some(_) => Ok(name),
        None => Err(invalid("timezone", "be an IANA time zone name")),
    }
}

fn invalid(field: &str, rule: &str) -> Error {
    Error::Invalid(Cow::Owned(format!("{field} must {rule}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: serde_json::Value) -> Result<PreferencesChanges, String> {
        let request = serde_json::from_value::<PutPreferencesRequest>(body)
            .map_err(|error| error.to_string())?;
        let changes = request.changes(NaiveDateTime::default());
        changes.map_err(|error| error.to_string())
    }

    #[test]
    fn values_at_the_limits_are_accepted() {
        for body in [
            json!({}),
            json!({"daily_goal": 1, "default_duration": 1, "short_break_duration": 1, "long_break_duration": 1}),
            json!({"daily_goal": 24, "default_duration": 480, "short_break_duration": 60, "long_break_duration": 60}),
            json!({"notification_sound": "a", "theme_preference": "z".repeat(32), "other": {"ignored": true}}),
            json!({"timezone": "Europe/Berlin", "leaderboard_opt_in": true}),
        ] {
            assert!(read(body.clone()).is_ok(), "{body}");
        }
    }

    #[test]
    fn an_invalid_preference_is_refused_by_name() {
        const MINUTES: &str = "be a whole number from 1 to 480";
        const BREAK_MINUTES: &str = "be a whole number from 1 to 60";
        const NAME: &str = "have 1 to 32 characters of a-z, 0-9, _ and -";
        const ZONE: &str = "be an IANA time zone name";
        for (field, value, rule) in [
            ("daily_goal", json!(0), "be a whole number from 1 to 24"),
            ("daily_goal", json!(25), "be a whole number from 1 to 24"),
            ("default_duration", json!(481), MINUTES),
            ("default_duration", json!(-1), MINUTES),
            ("default_duration", json!(i64::MAX), MINUTES),
            ("short_break_duration", json!(61), BREAK_MINUTES),
            ("long_break_duration", json!(0), BREAK_MINUTES),
            ("notification_sound", json!(""), NAME),
            ("notification_sound", json!("Bell"), NAME),
            ("theme_preference", json!("x".repeat(33)), NAME),
            ("theme_preference", json!("dark mode"), NAME),
            ("timezone", json!("Mars/Olympus"), ZONE),
            ("timezone", json!(""), ZONE),
            ("timezone", json!("+02:00"), ZONE),
        ] {
            assert_eq!(
                read(json!({ field: value })).err(),
                Some(format!("{field} must {rule}")),
                "{field} {value}"
            );
        }
    }

    #[test]
    fn wrong_types_are_refused() {
        for body in [
            json!({"daily_goal": "8"}),
            json!({"daily_goal": 8.5}),
            json!({"daily_goal": true}),
            json!({"theme_preference": 1}),
            json!({"timezone": ["UTC"]}),
            json!({"leaderboard_opt_in": "yes"}),
        ] {
            assert!(read(body.clone()).is_err(), "{body}");
        }
    }
}
