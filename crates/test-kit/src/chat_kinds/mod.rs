//! Chats that take only what the real ones take.

mod rules;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};

use crate::ChatMessage;

/// The secret in every strict chat's address, or its token.
const SECRET: &str = "x7hq9s2vtbd3zkfn5wmc8pjr4e";

/// A chat that takes only what the real one takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatKind {
    /// Incoming webhooks with blocks.
    Slack,
    /// Webhooks with embeds.
    Discord,
    /// Incoming webhooks in Slack's shape.
    Mattermost,
    /// The client-server API.
    Matrix,
    /// Incoming integrations.
    RocketChat,
    /// The Slack-compatible incoming webhook.
    Zulip,
}

/// A status and a body.
pub(crate) type Said = (u16, String);

impl ChatKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Slack,
        Self::Discord,
        Self::Mattermost,
        Self::Matrix,
        Self::RocketChat,
        Self::Zulip,
    ];

    /// What a project's chat is set to for this one, at `server`.
    pub fn settings(self, server: &str) -> Value {
        let hook = |provider: &str, path: String| json!({"provider": provider, "webhook_url": format!("{server}{path}")});
        match self {
            Self::Slack => hook("slack", format!("/services/T024/B19/{SECRET}")),
            Self::Discord => hook("discord", format!("/api/webhooks/8812/{SECRET}")),
            Self::Mattermost => hook("mattermost", format!("/hooks/{SECRET}")),
            Self::RocketChat => hook("rocketchat", format!("/hooks/65f1c0/{SECRET}")),
            Self::Zulip => hook(
                "zulip",
                format!("/api/v1/external/slack_incoming?api_key={SECRET}&stream=focus"),
            ),
            Self::Matrix => json!({
                "provider": "matrix", "homeserver_url": server, "room_id": "!focus:matrix.example",
                "access_token": SECRET
            }),
        }
    }

    /// What this chat says to one who is to wait for so many milliseconds, and its `Retry-After` if it has one.
    pub fn too_many(self, wait: u64) -> (String, Option<String>) {
        let seconds = Duration::from_millis(wait).as_secs_f64();
        match self {
            Self::Discord => {
                let said = json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false});
                (said.to_string(), None)
            }
            Self::Zulip => {
                let said =
                    json!({"result": "error", "code": "RATE_LIMIT_HIT", "retry-after": seconds});
                (said.to_string(), None)
            }
            Self::Matrix => {
                let said = json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": wait});
                (said.to_string(), None)
            }
            _ => (String::new(), Some(wait.div_ceil(1_000).to_string())),
        }
    }

    /// What it says to a call; `known` is false once the address was taken back.
    pub(crate) fn answer(self, call: &ChatMessage, known: bool) -> Said {
        let secret = |secret: &str| known && secret == SECRET;
        let said = match self {
            Self::Slack => rules::slack(call, secret),
            Self::Discord => rules::discord(call, secret),
            Self::Mattermost => rules::mattermost(call, secret),
            Self::Matrix => rules::matrix(call, secret),
            Self::RocketChat => rules::rocket_chat(call, secret),
            Self::Zulip => rules::zulip(call, secret),
        };
        said.unwrap_or_else(|no| no)
    }
}
