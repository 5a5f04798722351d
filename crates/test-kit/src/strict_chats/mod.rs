//! Chats that accept only what the real ones accept.

mod rules;

use std::time::{Duration, Instant};

use event_types::{AddressKind, ChatProvider};
use serde_json::{Value, json};

use crate::{ChatMessage, ChatReply};

/// The secret in the address of every strict chat, or its token.
const SECRET: &str = "x7hq9s2vtbd3zkfn5wmc8pjr4e";

/// A status and a body.
pub(crate) type ChatAnswer = (u16, String);

/// Returns the settings of a project's chat for a strict one at `server`.
pub fn chat_settings(provider: ChatProvider, server: &str) -> Value {
    let name = provider.name();
    match provider.address_kind() {
        AddressKind::Hook => {
            json!({ "provider": name, "webhook_url": format!("{server}{}", path(provider)) })
        }
        AddressKind::Room => json!({
            "provider": name, "homeserver_url": server, "room_id": "!focus:matrix.example",
            "access_token": SECRET
        }),
    }
}

/// Returns the response of a strict chat to this message, posted in the way that it requires.
pub fn chat_response(provider: ChatProvider, message: &Value) -> (u16, String) {
    answer(provider, &call(provider, message.clone()), true)
}

/// Returns what this chat responds to a client that must wait for `wait` milliseconds, and its `Retry-After` if it has one.
pub fn chat_wait(provider: ChatProvider, wait: u64) -> (String, Option<String>) {
    let seconds = Duration::from_millis(wait).as_secs_f64();
    let said = match provider {
        ChatProvider::Slack
        | ChatProvider::MsTeams
        | ChatProvider::Mattermost
        | ChatProvider::RocketChat => {
            return (String::new(), Some(wait.div_ceil(1_000).to_string()));
        }
        ChatProvider::Discord => {
            json!({"message": "You are being rate limited.", "retry_after": seconds, "global": false})
        }
        ChatProvider::Zulip => {
            json!({"result": "error", "code": "RATE_LIMIT_HIT", "retry-after": seconds})
        }
        ChatProvider::Matrix => json!({"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": wait}),
    };
    (said.to_string(), None)
}

/// Returns the lines of a digest that a chat shows.
pub fn chat_digest(provider: ChatProvider, message: &Value) -> String {
    let text = match provider {
        ChatProvider::Slack => {
            let blocks = rules::list(&message["blocks"]);
            let texts = blocks.iter().map(|block| block["text"]["text"].as_str());
            return texts.flatten().collect::<Vec<_>>().join("\n");
        }
        ChatProvider::MsTeams => &message["attachments"][0]["content"]["body"][1]["text"],
        ChatProvider::Discord => &message["embeds"][0]["description"],
        ChatProvider::Mattermost | ChatProvider::RocketChat | ChatProvider::Zulip => {
            &message["text"]
        }
        ChatProvider::Matrix => &message["body"],
    };
    text.as_str().unwrap_or_default().to_owned()
}

/// Returns the response to a call; `known` is false once the address was revoked.
pub(crate) fn answer(provider: ChatProvider, call: &ChatMessage, known: bool) -> ChatAnswer {
    let secret = |secret: &str| known && secret == SECRET;
    let said = match provider {
        ChatProvider::Slack => rules::slack(call, secret),
        ChatProvider::MsTeams => rules::ms_teams(call, secret),
        ChatProvider::Discord => rules::discord(call, secret),
        ChatProvider::Mattermost => rules::mattermost(call, secret),
        ChatProvider::RocketChat => rules::rocket_chat(call, secret),
        ChatProvider::Zulip => rules::zulip(call, secret),
        ChatProvider::Matrix => rules::matrix(call, secret),
    };
    said.unwrap_or_else(|no| no)
}

/// Returns the path at which it takes messages.
fn path(provider: ChatProvider) -> String {
    match provider {
        ChatProvider::Slack => format!("/services/T024/B19/{SECRET}"),
        ChatProvider::MsTeams => format!(
            "{}?api-version=1&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig={SECRET}",
            rules::WORKFLOW
        ),
        ChatProvider::Discord => format!("/api/webhooks/8812/{SECRET}"),
        ChatProvider::Mattermost => format!("/hooks/{SECRET}"),
        ChatProvider::RocketChat => format!("/hooks/65f1c0/{SECRET}"),
        ChatProvider::Zulip => {
            format!("/api/v1/external/slack_incoming?api_key={SECRET}&stream=focus")
        }
        ChatProvider::Matrix => format!(
            "/_matrix/client/v3/rooms/{}/send/m.room.message/1",
            rules::ROOM
        ),
    }
}

fn call(provider: ChatProvider, body: Value) -> ChatMessage {
    let target = path(provider);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut headers = vec![header("content-type", "application/json")];
    let method = match provider.address_kind() {
        AddressKind::Hook => "POST",
        AddressKind::Room => {
            headers.push(header("authorization", &format!("Bearer {SECRET}")));
            "PUT"
        }
    };
    ChatMessage {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        raw: body.to_string().into_bytes(),
        body,
        at: Instant::now(),
        reply: ChatReply::Status(200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(kind: ChatProvider) -> Value {
        match kind {
            ChatProvider::MsTeams => json!({"type": "message", "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "TextBlock", "text": "x"}]}
            }]}),
            ChatProvider::Discord => json!({"content": "x", "allowed_mentions": {"parse": []}}),
            ChatProvider::Matrix => json!({
                "msgtype": "m.notice", "body": "x", "format": "org.matrix.custom.html", "formatted_body": "x"
            }),
            ChatProvider::Slack
            | ChatProvider::Mattermost
            | ChatProvider::RocketChat
            | ChatProvider::Zulip => json!({"text": "x"}),
        }
    }

    #[test]
    fn a_strict_chat_takes_what_is_right_and_nothing_that_is_not() {
        for kind in ChatProvider::ALL {
            let status = |change: fn(&mut ChatMessage)| {
                let mut call = call(kind, good(kind));
                change(&mut call);
                answer(kind, &call, true).0
            };
            assert!((200..300).contains(&status(|_| ())), "{kind:?}");
            assert!(
                status(|call| call.method = "GET".to_owned()) >= 400,
                "{kind:?}"
            );
            assert_eq!(
                status(|call| call.path = "/other".to_owned()),
                404,
                "{kind:?}"
            );
            assert!(status(|call| call.body = Value::Null) >= 400, "{kind:?}");
            for wrong in ["", &"x".repeat(70_000)] {
                let message = good(kind)
                    .to_string()
                    .replace("\"x\"", &json!(wrong).to_string());
                let status = chat_response(kind, &serde_json::from_str(&message).unwrap()).0;
                assert!(status >= 400, "{kind:?}");
            }
            let gone = answer(kind, &call(kind, good(kind)), false).0;
            assert!([400, 401, 404].contains(&gone), "{kind:?} {gone}");
        }
    }
}
