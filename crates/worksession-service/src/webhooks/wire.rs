use auth_types::{TeamId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{EVENTS, WebhookRow};
use crate::closed_sets::IntegrationStatus;
use crate::error::Error;
use crate::integrations::{ACTIVE, WebhookId};
use crate::projects::text::parse_line;

const DESCRIPTION_CHARS: usize = 200;

/// A new webhook.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateWebhookRequest {
    /// The https address to call; write-only.
    #[schema(value_type = String)]
    pub(crate) url: Option<String>,
    /// The event types to subscribe to: `session.started.v1`, `session.submitted.v1`, `session.abandoned.v1`; all by
    /// default.
    pub(crate) events: Option<Vec<String>>,
    /// A team that the caller owns or administers. The webhook then receives the sessions on the team's projects,
    /// otherwise the caller's own sessions.
    pub(crate) team_id: Option<TeamId>,
    /// Up to 200 characters on one line.
    pub(crate) description: Option<String>,
}

/// Changes to a webhook; absent fields stay as they are. A disabled webhook becomes active again.
#[derive(Deserialize, ToSchema)]
pub(crate) struct UpdateWebhookRequest {
    /// The https address to call; write-only.
    pub(crate) url: Option<String>,
    /// The event types to subscribe to.
    pub(crate) events: Option<Vec<String>>,
    /// Up to 200 characters on one line.
    pub(crate) description: Option<String>,
}

/// A webhook, without its address and its secrets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Webhook {
    id: WebhookId,
    /// Null for a webhook of the caller's own.
    team_id: Option<TeamId>,
    /// The address without its path, which may be secret: `https://hooks.example.com`.
    origin: String,
    events: Vec<String>,
    description: String,
    /// `active`, `paused` (its creator lost access; see `adopt`) or `off`.
    #[schema(value_type = IntegrationStatus)]
    status: String,
    /// Why it is paused or off; null while it is active.
    reason: Option<String>,
    /// The account that created it, last set its address, or adopted it; null when that account is deleted.
    created_by: Option<UserId>,
    /// The OAuth client with which that happened, if there was one.
    client_id: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    /// When the current secret was created.
    secret_changed_at: DateTime<Utc>,
}

impl From<WebhookRow> for Webhook {
    fn from(row: WebhookRow) -> Self {
        Self {
            id: row.id,
            team_id: row.team_id,
            origin: row.origin,
            events: row.events.split(' ').map(str::to_owned).collect(),
            description: row.description,
            reason: row.reason.filter(|_| row.status != ACTIVE),
            created_by: row.creator.created_by,
            client_id: row.creator.client_id,
            status: row.status,
            created_at: row.created_at.and_utc(),
            updated_at: row.updated_at.and_utc(),
            secret_changed_at: row.secret_changed_at.and_utc(),
        }
    }
}

/// The caller's webhooks and those of the teams that the caller manages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhooksResponse {
    pub(super) success: bool,
    pub(super) webhooks: Vec<Webhook>,
}

/// One webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WebhookResponse {
    success: bool,
    webhook: Webhook,
}

impl From<WebhookRow> for WebhookResponse {
    fn from(row: WebhookRow) -> Self {
        Self {
            success: true,
            webhook: row.into(),
        }
    }
}

/// A webhook and its new secret, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct WebhookSecretResponse {
    success: bool,
    webhook: Webhook,
    /// `whsec_` and the base64 of the signing key, as in Standard Webhooks.
    secret: String,
}

impl WebhookSecretResponse {
    pub(super) fn new(row: WebhookRow, secret: String) -> Self {
        Self {
            success: true,
            webhook: row.into(),
            secret,
        }
    }
}

/// Validates `events`, and returns them as they are stored, in the order of [`EVENTS`].
pub(super) fn parse_events(events: &[String]) -> Result<String, Error> {
    let unknown = events.iter().any(|name| !EVENTS.contains(&name.as_str()));
    if unknown || events.is_empty() {
        return Err(Error::invalid(format!(
            "events must be some of: {}",
            EVENTS.join(", ")
        )));
    }
    let wanted = EVENTS
        .into_iter()
        .filter(|name| events.iter().any(|event| event == name));
    Ok(wanted.collect::<Vec<_>>().join(" "))
}

pub(super) fn parse_description(text: &str) -> Result<String, Error> {
    parse_line("description", text, DESCRIPTION_CHARS)
}

/// Parses the id in a path. A malformed id names no webhook.
pub(super) fn parse_id(text: &str) -> Result<WebhookId, Error> {
    text.parse().map_err(|_| Error::WebhookNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(events: &[&str]) -> Option<String> {
        let events: Vec<String> = events.iter().map(|name| (*name).to_owned()).collect();
        parse_events(&events).ok()
    }

    #[test]
    fn only_known_events_are_accepted_and_each_is_stored_once() {
        let (started, submitted) = ("session.started.v1", "session.submitted.v1");
        assert_eq!(
            read(&[submitted, started, submitted]).as_deref(),
            Some("session.started.v1 session.submitted.v1")
        );
        assert_eq!(read(&[]), None);
        for name in [
            "",
            "session.started",
            "session.started.v1 ",
            "webhook.test.v1",
        ] {
            assert_eq!(read(&[started, name]), None, "{name:?}");
        }
    }

    #[test]
    fn a_description_is_one_line_of_up_to_200_characters() {
        assert_eq!(parse_description("  zählt ").ok().as_deref(), Some("zählt"));
        assert!(parse_description(&"ü".repeat(200)).is_ok());
        for text in [&"x".repeat(201), "a\nb", "a\u{7f}"] {
            assert!(parse_description(text).is_err(), "{text:?}");
        }
    }
}
