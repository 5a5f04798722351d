use std::str::FromStr;

use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use diesel::prelude::*;

use crate::error::Error;
use crate::schema::oauth_devices;

/// The polling interval of a device, in seconds (RFC 8628 section 3.2). It grows by as much after each poll that is too
/// early (section 3.5).
pub(super) const INTERVAL_SECONDS: i64 = 5;
/// By how much the network may shorten the time between two polls.
const JITTER: TimeDelta = TimeDelta::milliseconds(500);

/// The status of a device authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeviceStatus {
    Pending,
    Approved,
    Denied,
    Used,
}

impl DeviceStatus {
    /// Returns the name in the database.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
        }
    }
}

impl FromStr for DeviceStatus {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        [Self::Pending, Self::Approved, Self::Denied, Self::Used]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::internal("oauth_devices.status", text))
    }
}

/// A device authorization, as the token endpoint reads it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = oauth_devices)]
pub(super) struct DeviceRow {
    pub(super) scope: String,
    pub(super) status: String,
    pub(super) user_id: Option<UserId>,
    pub(super) authorized_by: Option<String>,
    pub(super) auth_time: Option<NaiveDateTime>,
    pub(super) poll_seconds: i64,
    pub(super) polled_at: Option<NaiveDateTime>,
    pub(super) expires_at: NaiveDateTime,
}

impl DeviceRow {
    /// Whether the device polls earlier than its interval allows.
    pub(super) fn is_hasty(&self, now: NaiveDateTime) -> bool {
        let wait = TimeDelta::seconds(self.poll_seconds) - JITTER;
        self.polled_at.is_some_and(|at| now - at < wait)
    }
}

/// A pending device authorization.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = oauth_devices)]
pub(super) struct PendingDeviceRow {
    pub(super) client_id: String,
    pub(super) scope: String,
}
