//! Notifications, and the interface of the chats' adapters.

use std::time::Duration;

use event_types::{
    ChatAddress, ChatTestRequested, SessionAbandoned, SessionStarted, SessionSubmitted,
};
use secrecy::SecretString;
use serde_json::Value;
use service_kit::guard::{GuardedResponse, Method};

use super::responses::{self, PostOutcome};

/// A notification for a team.
#[derive(Debug, Clone)]
pub(crate) enum Notification {
    /// A timer started.
    Planned(SessionStarted),
    /// A session was submitted.
    Finished(SessionSubmitted),
    /// A session was not submitted in time.
    Abandoned(SessionAbandoned),
    /// A test of the connection.
    Test(ChatTestRequested),
}

/// An HTTP call that posts a message. It has no `Debug`, because its URL is a secret.
pub(crate) struct ChatRequest {
    pub(crate) method: Method,
    pub(crate) url: String,
    /// The bearer token.
    pub(crate) bearer: Option<SecretString>,
    /// The JSON body.
    pub(crate) body: Value,
}

impl Notification {
    /// Returns the channel that the project had at the time of the event; "" if it had none.
    pub(crate) fn channel(&self) -> &str {
        let chat = match self {
            Self::Planned(started) => &started.chat,
            Self::Finished(submitted) => &submitted.chat,
            Self::Abandoned(abandoned) => &abandoned.chat,
            Self::Test(test) => return &test.channel,
        };
        chat.as_ref().map_or("", |chat| &chat.channel)
    }
}

/// The adapter of a chat: the format of its messages, its HTTP call and the meaning of its responses.
pub(crate) trait ChatAdapter: Sync {
    /// Formats a message: one notification in full, or several as a digest.
    fn write(&self, notifications: &[Notification], channel: &str) -> Value;

    /// Returns the URL to call for an incoming webhook.
    fn hook_url(&self, webhook_url: &str) -> String {
        webhook_url.to_owned()
    }

    /// Returns the call that posts a message. `transaction` is the message's id, the same each time it is sent. Returns none
    /// if the address is not of the chat's kind.
    fn call(&self, to: &ChatAddress, _transaction: &str, body: Value) -> Option<ChatRequest> {
        let ChatAddress::Hook { webhook_url } = to else {
            return None;
        };
        Some(ChatRequest {
            method: Method::POST,
            url: self.hook_url(webhook_url),
            bearer: None,
            body,
        })
    }

    /// Whether a repeated call shows the message only once.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// Classifies a response. The text is a hint for the owner, if the response says more than its status; it is
    /// appended to the status.
    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        (responses::classify_status(response.status), "")
    }

    /// Returns the wait that the chat asks for.
    fn retry_after(&self, response: &GuardedResponse) -> Option<Duration> {
        response.retry_after
    }

    /// Whether no user input has a meaning in this message.
    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool;
}
