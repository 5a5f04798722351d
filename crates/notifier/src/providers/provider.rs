//! What a chat is told, and what there is to know of each one.

use std::time::Duration;

use event_types::{
    ChatAddress, ChatTestRequested, SessionAbandoned, SessionStarted, SessionSubmitted,
};
use secrecy::SecretString;
use serde_json::Value;
use service_kit::guard::Answer;

use super::answers::{self, Sense};

/// What a team is told.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A timer started.
    Planned(SessionStarted),
    /// A session was submitted.
    Finished(SessionSubmitted),
    /// Nobody submitted a session in time.
    Abandoned(SessionAbandoned),
    /// The chat is connected.
    Test(ChatTestRequested),
}

/// An HTTP call that posts a message. Has no `Debug`: the address is a secret.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: String,
    /// What stands behind `Bearer`.
    pub(crate) bearer: Option<SecretString>,
    /// Sent as JSON.
    pub(crate) body: Value,
}

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Post,
    Put,
}

impl Notice {
    /// The project's channel when it happened; "" when none was named.
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

/// How a chat is called, what a message looks like in it and what its answers mean: all that there is to know of one here.
pub(crate) trait Chat: Sync {
    /// A message: of one notice in full, of several in a digest.
    fn write(&self, notices: &[Notice], channel: &str) -> Value;

    /// Where a hook is called.
    fn hook_url(&self, webhook_url: &str) -> String {
        webhook_url.to_owned()
    }

    /// The call that posts a message; `transaction` is the same whenever the same message is sent. None when the address is
    /// not of this chat's kind.
    fn call(&self, to: &ChatAddress, _transaction: &str, body: Value) -> Option<Call> {
        let ChatAddress::Hook { webhook_url } = to else {
            return None;
        };
        Some(Call {
            method: Method::Post,
            url: self.hook_url(webhook_url),
            bearer: None,
            body,
        })
    }

    /// Whether it shows a message once however often the call is made.
    fn shows_once(&self) -> bool {
        false
    }

    /// What an answer says of the message and, where it tells more than its status, what the owner can do about it; that goes on
    /// after the status.
    fn judge(&self, answer: &Answer) -> (Sense, &'static str) {
        (answers::sense(answer.status), "")
    }

    /// How long it wants to be left alone.
    fn asked_wait(&self, answer: &Answer) -> Option<Duration> {
        answer.retry_after
    }

    /// Whether nothing that people typed means anything in this message.
    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool;
}
