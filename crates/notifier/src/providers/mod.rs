//! How each chat wants a message. Everything that a person typed is hostile here: escaped, mentions
//! disarmed, cut to the provider's limits.

mod answers;
mod article;
mod discord;
mod escape;
mod matrix;
mod mattermost;
mod plain;
mod slack;
mod tongue;

pub(crate) use answers::{Sense, advice, asked_wait, sense};

use event_types::{
    ChatAddress, ChatDestination, ChatTestRequested, SessionAbandoned, SessionStarted,
    SessionSubmitted,
};
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

/// The one chat that is told of transactions.
const MATRIX: &str = "matrix";

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

/// Whether the chat shows a message once however often the call is made.
pub(crate) fn shows_once(provider: &str) -> bool {
    provider == MATRIX
}

/// The call that tells a chat of these: of one in full, of several in a digest. `transaction` is the same
/// whenever the same message is sent, so that a chat that can tell shows it once. None for no notice, and for a
/// provider that this version does not know.
pub(crate) fn call(
    destination: &ChatDestination,
    channel: &str,
    transaction: &str,
    notices: &[Notice],
) -> Option<Call> {
    if notices.is_empty() {
        return None;
    }
    let webhook_url = match &destination.address {
        ChatAddress::Hook { webhook_url } => webhook_url,
        room if destination.provider == MATRIX => {
            return matrix::call(room, transaction, notices);
        }
        ChatAddress::Room { .. } => return None,
    };
    let mut url = webhook_url.clone();
    let body = match destination.provider.as_str() {
        "slack" => slack::write(notices),
        "discord" => {
            // Otherwise the answer comes before Discord knows whether it takes the message.
            url = with_query(&url, "wait", "true");
            discord::write(notices)
        }
        "mattermost" => mattermost::write(notices, channel),
        "rocketchat" => plain::ROCKET_CHAT.write(notices, channel),
        "zulip" => plain::ZULIP.write(notices, channel),
        _ => return None,
    };
    Some(Call {
        method: Method::Post,
        url,
        bearer: None,
        body,
    })
}

/// An address that cannot be read is left as it is: whoever calls it finds that out.
fn with_query(url: &str, name: &str, value: &str) -> String {
    let Ok(mut url) = Url::parse(url) else {
        return url.to_owned();
    };
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(other, _)| other != name)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(kept)
        .append_pair(name, value);
    url.into()
}

#[cfg(test)]
mod tests;
