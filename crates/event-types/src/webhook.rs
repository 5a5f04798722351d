use auth_types::UserId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Event;

/// `webhook.configured.v1`: the URL and the signing secrets of a webhook. Private; both are sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookConfigured {
    /// The webhook. Its id is never used again.
    pub webhook_id: i64,
    /// Increases with each change; the highest revision applies.
    pub revision: i64,
    /// A sealed [`WebhookTarget`]; null when the webhook is paused or deleted.
    pub sealed: Option<String>,
    /// Whether the webhook is paused, not deleted. Its deliveries are then skipped; those of a deleted webhook are removed.
    #[serde(default)]
    pub paused: bool,
}

impl WebhookConfigured {
    /// Returns the sealing context, which binds a sealed target to its webhook and revision.
    #[must_use]
    pub fn seal_context(webhook_id: i64, revision: i64) -> String {
        format!("webhook/{webhook_id}/{revision}")
    }
}

/// The JSON inside `sealed`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTarget {
    /// The URL that is called: a secret.
    pub url: String,
    /// The signing secrets, newest first. Each one signs until it expires.
    pub secrets: Vec<WebhookSecret>,
}

/// A signing secret of Standard Webhooks.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecret {
    /// `whsec_` and the key in base64.
    pub secret: String,
    /// When the secret expires; none for the secret that is valid until it is replaced.
    pub until: Option<DateTime<Utc>>,
}

impl std::fmt::Debug for WebhookTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookTarget").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSecret").finish_non_exhaustive()
    }
}

/// `webhook.due.v1`: an event that is to be delivered to a webhook. Private.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebhookDue {
    /// The webhook.
    pub webhook_id: i64,
    /// The revision of the webhook when the event happened. An older one is not used.
    pub revision: i64,
    /// The delivery; sent as the header `webhook-id`, the same in each attempt.
    pub delivery_id: Uuid,
    /// The account that the event is about. When it is deleted, what is stored of the event is deleted too.
    pub user_id: UserId,
    /// The event, as the receiver gets it.
    pub event: Event,
}

/// `webhook.replayed.v1`: a settled delivery is to be sent again. Private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReplayed {
    /// The webhook.
    pub webhook_id: i64,
    /// The delivery.
    pub delivery_id: Uuid,
}

/// The data of a test event, `webhook.test.v1`. It is sent to one webhook only, inside a [`WebhookDue`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTest {
    /// The webhook.
    pub webhook_id: i64,
    /// The username of the account that requested the test.
    pub requested_by: String,
}

/// The outcome of an attempt to call a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WebhookOutcome {
    /// The receiver accepted the event.
    Delivered,
    /// The delivery is retried.
    Pending,
    /// The delivery failed and is not retried.
    Failed,
    /// The delivery was not sent, because the webhook is not active.
    Skipped,
}

/// `webhook.attempted.v1`: the state of a delivery after an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WebhookAttempted {
    /// The webhook.
    pub webhook_id: i64,
    /// The delivery.
    pub delivery_id: Uuid,
    /// Increases with each report about the delivery; the highest step is the latest.
    pub step: i64,
    /// The state of the delivery.
    pub outcome: WebhookOutcome,
    /// The number of calls to the receiver, replays included.
    pub attempts: i64,
    /// The status code of the receiver's response, if there was one.
    pub status_code: Option<u16>,
    /// Milliseconds until the response or the end of the wait for it; null without an attempt.
    pub duration_ms: Option<i64>,
    /// A sentence without the address; null when the event was delivered.
    pub reason: Option<String>,
    /// When the next attempt is due.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// The time of this state.
    pub at: DateTime<Utc>,
}

/// `webhook.disabled.v1`: a webhook's receiver is gone or failed for days, and the webhook was disabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WebhookDisabled {
    /// The webhook.
    pub webhook_id: i64,
    /// The revision that was disabled. A newer one stays active.
    pub revision: i64,
    /// A sentence for the owner, without the address.
    pub reason: String,
}
