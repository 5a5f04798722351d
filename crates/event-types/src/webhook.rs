use auth_types::UserId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Event;

/// `webhook.configured.v1`: where a webhook's calls go from now on, and what signs them. Private; both are
/// sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookConfigured {
    /// The webhook. Its id is never given out again.
    pub webhook_id: i64,
    /// Counts up with each change; the highest one holds.
    pub revision: i64,
    /// A sealed [`WebhookTarget`]; null when the webhook is paused or gone.
    pub sealed: Option<String>,
    /// The webhook of this revision is paused: its calls are skipped. When it is gone, what is kept for it goes too.
    #[serde(default)]
    pub paused: bool,
}

impl WebhookConfigured {
    /// What a sealed target is bound to, so that one webhook's cannot be passed off as another's.
    #[must_use]
    pub fn seal_context(webhook_id: i64, revision: i64) -> String {
        format!("webhook/{webhook_id}/{revision}")
    }
}

/// What `sealed` opens to, as JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTarget {
    /// The address that is called: a secret.
    pub url: String,
    /// What signs, the newest first. Each signs until its time is over.
    pub secrets: Vec<WebhookSecret>,
}

/// A secret of Standard Webhooks.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookSecret {
    /// `whsec_` and the base64 of the key.
    pub secret: String,
    /// None for the one that is good until it is replaced.
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

/// `webhook.due.v1`: an event that a webhook is to be told of. Private.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebhookDue {
    /// The webhook.
    pub webhook_id: i64,
    /// Its revision when the event happened: no older one is used.
    pub revision: i64,
    /// The call; the header `webhook-id`, the same each time it is tried.
    pub delivery_id: Uuid,
    /// Whose doing the event tells of; what is kept of it goes when the account does.
    pub user_id: UserId,
    /// What is told, as the receiver reads it.
    pub event: Event,
}

/// `webhook.replayed.v1`: a settled call is to be made again. Private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookReplayed {
    /// The webhook.
    pub webhook_id: i64,
    /// The call.
    pub delivery_id: Uuid,
}

/// What a test call tells, as `webhook.test.v1`. It goes to one webhook only, inside a [`WebhookDue`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookTest {
    /// The webhook.
    pub webhook_id: i64,
    /// Who asked for it.
    pub requested_by: String,
}

/// What became of a try to call a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WebhookOutcome {
    /// The receiver has it.
    Delivered,
    /// It is tried again.
    Pending,
    /// Given up.
    Failed,
    /// Not tried: the webhook is switched off.
    Skipped,
}

/// `webhook.attempted.v1`: how a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WebhookAttempted {
    /// The webhook.
    pub webhook_id: i64,
    /// The call.
    pub delivery_id: Uuid,
    /// Counts up with each word about the call; the highest one holds.
    pub step: i64,
    /// How it stands.
    pub outcome: WebhookOutcome,
    /// How often the receiver was called, all replays together.
    pub attempts: i64,
    /// What the receiver answered, if it did.
    pub status_code: Option<u16>,
    /// How long the answer took, or the wait for it; none without a try.
    pub duration_ms: Option<i64>,
    /// A sentence without the address; none when it was delivered.
    pub reason: Option<String>,
    /// When it is tried again.
    pub next_attempt_at: Option<DateTime<Utc>>,
    /// When this was so.
    pub at: DateTime<Utc>,
}

/// `webhook.disabled.v1`: the receiver refuses us for good, or has failed for days, and was switched off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WebhookDisabled {
    /// The webhook.
    pub webhook_id: i64,
    /// The revision that was switched off; a newer one is not touched.
    pub revision: i64,
    /// A sentence for the owner, without the address.
    pub reason: String,
}
