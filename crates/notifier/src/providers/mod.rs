//! How each chat wants a message. Everything that a person typed is hostile here: escaped, mentions
//! disarmed, cut to the provider's limits.

mod answers;
mod article;
mod discord;
mod escape;
mod matrix;
mod mattermost;
mod ms_teams;
mod plain;
mod rocket_chat;
mod slack;
mod tongue;
mod zulip;

pub(crate) use answers::Sense;

use std::time::Duration;

use event_types::{
    ChatAddress, ChatDestination, ChatProvider, ChatTestRequested, SessionAbandoned,
    SessionStarted, SessionSubmitted,
};
use secrecy::SecretString;
use serde_json::Value;
use service_kit::guard::Answer;

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

/// What is known of a chat.
pub(crate) fn chat(provider: ChatProvider) -> &'static dyn Chat {
    match provider {
        ChatProvider::Slack => &slack::Slack,
        ChatProvider::MsTeams => &ms_teams::MsTeams,
        ChatProvider::Discord => &discord::Discord,
        ChatProvider::Mattermost => &mattermost::Mattermost,
        ChatProvider::RocketChat => &rocket_chat::RocketChat,
        ChatProvider::Zulip => &zulip::Zulip,
        ChatProvider::Matrix => &matrix::Matrix,
    }
}

/// The call that tells a chat of these; none for no notice.
pub(crate) fn call(
    destination: &ChatDestination,
    channel: &str,
    transaction: &str,
    notices: &[Notice],
) -> Option<Call> {
    if notices.is_empty() {
        return None;
    }
    let chat = chat(destination.provider);
    let body = chat.write(notices, channel);
    chat.call(&destination.address, transaction, body)
}

#[cfg(test)]
mod tests;
