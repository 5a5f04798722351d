use chrono::NaiveDateTime;
use clap::ValueEnum;
use serde::Serialize;

/// What a delivery goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Medium {
    /// Messages to team chats
    Chat,
    /// Mails
    Mail,
    /// Calls of webhooks
    Webhook,
}

/// A delivery of any medium.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    pub(super) medium: Medium,
    pub(super) id: String,
    /// What it is: a message's kind, a mail's template.
    pub(super) kind: String,
    /// The project of a chat, or the webhook.
    pub(super) receiver: Option<i64>,
    pub(super) request_id: Option<String>,
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) due_at: NaiveDateTime,
    pub(super) give_up_at: NaiveDateTime,
    pub(super) reason: Option<String>,
    pub(super) settled_at: Option<NaiveDateTime>,
}
