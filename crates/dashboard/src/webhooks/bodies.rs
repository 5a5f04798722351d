use chrono::{DateTime, Utc};
use messages::t;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::ApiRejection;
use crate::form_messages::FormMessages;

/// A webhook, without its address and secret, which no response contains.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Webhook {
    pub(super) id: i64,
    /// None for a webhook of the user's own.
    pub(super) team_id: Option<i64>,
    /// Such as `https://hooks.example.com`.
    pub(super) origin: String,
    pub(super) events: Vec<String>,
    pub(super) description: String,
    /// `active`, `paused` or `off`.
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) created_by: Option<i64>,
    pub(super) client_id: Option<String>,
    pub(super) secret_changed_at: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct Webhooks {
    pub(super) webhooks: Vec<Webhook>,
}

#[derive(Deserialize)]
pub(super) struct WebhookBody {
    pub(super) webhook: Webhook,
}

/// A webhook with its secret, which only one response contains.
#[derive(Deserialize)]
pub(super) struct WebhookWithSecret {
    pub(super) webhook: Webhook,
    pub(super) secret: String,
}

/// One delivery of a webhook.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Delivery {
    pub(super) id: String,
    pub(super) event_type: String,
    /// `pending`, `delivered`, `failed` or `skipped`.
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) status_code: Option<i64>,
    pub(super) reason: Option<String>,
    pub(super) created_at: DateTime<Utc>,
}

#[derive(Deserialize)]
pub(super) struct Deliveries {
    pub(super) deliveries: Vec<Delivery>,
    pub(super) next_cursor: Option<String>,
}

/// The events to which a webhook can subscribe: field of the form, and event type.
pub(super) const EVENTS: [(&str, &str); 3] = [
    ("started", "session.started.v1"),
    ("submitted", "session.submitted.v1"),
    ("abandoned", "session.abandoned.v1"),
];

/// The form of a webhook. A box that is not ticked is absent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct WebhookForm {
    pub(super) url: String,
    pub(super) description: String,
    /// Empty for a webhook of the user's own.
    pub(super) team_id: String,
    started: Option<String>,
    submitted: Option<String>,
    abandoned: Option<String>,
}

/// Returns the messages about a rejection. In the form, events have other names than in the API.
pub(super) fn messages_for(refused: &ApiRejection) -> FormMessages {
    let messages = refused.messages(&["url", "events", "description", "team_id"]);
    match messages.error_at("events") {
        Some(_) => FormMessages::for_field("events", t("webhooks-events-missing")),
        None => messages,
    }
}

impl WebhookForm {
    /// Returns an empty form that subscribes to everything.
    pub(super) fn new() -> Self {
        let yes = || Some("yes".to_owned());
        Self {
            started: yes(),
            submitted: yes(),
            abandoned: yes(),
            ..Self::default()
        }
    }

    /// Fills the form from a webhook.
    pub(super) fn from_webhook(webhook: &Webhook) -> Self {
        let is_subscribed = |event: &str| webhook.events.iter().any(|it| it == event);
        let [started, submitted, abandoned] =
            EVENTS.map(|(_, event)| is_subscribed(event).then(|| "yes".to_owned()));
        Self {
            description: webhook.description.clone(),
            started,
            submitted,
            abandoned,
            ..Self::default()
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        match name {
            "started" => self.started.is_some(),
            "submitted" => self.submitted.is_some(),
            _ => self.abandoned.is_some(),
        }
    }

    /// Returns the body for the service. Without an address, the stored one stays.
    pub(super) fn body(&self) -> Value {
        let events = EVENTS.iter().filter(|(name, _)| self.has(name));
        let events: Vec<&str> = events.map(|(_, event)| *event).collect();
        let mut body = Map::new();
        body.insert("events".to_owned(), events.into());
        body.insert("description".to_owned(), self.description.as_str().into());
        if !self.url.trim().is_empty() {
            body.insert("url".to_owned(), self.url.trim().into());
        }
        if !self.team_id.is_empty() {
            // An invalid number is sent as it is, to be rejected: without it, the webhook would be the user's own.
            let team = self.team_id.parse::<i64>().map(Value::from);
            let team = team.unwrap_or_else(|_| self.team_id.as_str().into());
            body.insert("team_id".to_owned(), team);
        }
        body.into()
    }
}
