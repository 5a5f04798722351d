//! What each chat insists on, and how it says no.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ChatMessage;

/// The secret in every strict chat's address, or its token.
const SECRET: &str = "x7hq9s2vtbd3zkfn5wmc8pjr4e";
/// The only room of a strict Matrix, as it stands in a path.
const ROOM: &str = "%21focus%3Amatrix%2Eexample";

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
            Self::Slack => slack(call, secret),
            Self::Discord => discord(call, secret),
            Self::Mattermost => mattermost(call, secret),
            Self::Matrix => matrix(call, secret),
            Self::RocketChat => rocket_chat(call, secret),
            Self::Zulip => zulip(call, secret),
        };
        said.unwrap_or_else(|no| no)
    }
}

fn slack(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no = |status, word: &'static str| move || (status, word.to_owned());
    let path: Vec<&str> = call.path.split('/').collect();
    let ["", "services", _, _, given] = path[..] else {
        return Err((404, "no_team".to_owned()));
    };
    ensure(secret(given), no(404, "no_service"))?;
    ensure(posted_json(call), no(400, "invalid_payload"))?;
    only(call, &["text", "blocks", "unfurl_links", "unfurl_media"])
        .map_err(|()| (400, "invalid_payload".to_owned()))?;
    ensure(within(&call.body["text"], 1, 40_000), no(400, "no_text"))?;
    let blocks = list(&call.body["blocks"]);
    ensure(blocks.len() <= 50, no(400, "invalid_blocks"))?;
    let mrkdwn = |text: &Value, most| text["type"] == "mrkdwn" && within(&text["text"], 1, most);
    for block in blocks {
        let fields = list(&block["fields"]);
        let fits = block["type"] == "section"
            && (mrkdwn(&block["text"], 3_000) || !fields.is_empty())
            && fields.len() <= 10
            && fields.iter().all(|field| mrkdwn(field, 2_000));
        ensure(fits, no(400, "invalid_blocks"))?;
    }
    Ok((200, "ok".to_owned()))
}

fn discord(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no =
        |status, code: u32| move || (status, json!({"message": "No", "code": code}).to_string());
    let path: Vec<&str> = call.path.split('/').collect();
    let ["", "api", "webhooks", _, given] = path[..] else {
        return Err((
            404,
            json!({"message": "404: Not Found", "code": 0}).to_string(),
        ));
    };
    ensure(secret(given), no(404, 10_015))?;
    ensure(posted_json(call), no(400, 50_109))?;
    let message = &call.body;
    ensure(within(&message["content"], 0, 2_000), no(400, 50_035))?;
    let embeds = list(&message["embeds"]);
    let empty = message["content"] == "" && embeds.is_empty();
    ensure(!empty, no(400, 50_006))?;
    ensure(embeds.len() <= 10, no(400, 50_035))?;
    for embed in &embeds {
        let fields = list(&embed["fields"]);
        let named =
            |field: &Value| within(&field["name"], 1, 256) && within(&field["value"], 1, 1_024);
        let size = |text: &Value| text.as_str().map_or(0, |text| text.chars().count());
        let all = fields
            .iter()
            .map(|field| size(&field["name"]) + size(&field["value"]));
        let fits = fields.len() <= 25
            && fields.iter().all(named)
            && (embed["description"].is_null() || within(&embed["description"], 1, 4_096))
            && embed["color"]
                .as_u64()
                .is_none_or(|colour| colour <= 0x00ff_ffff)
            && size(&embed["description"]) + all.sum::<usize>() <= 6_000;
        ensure(fits, no(400, 50_035))?;
    }
    // Not Discord's rule, but ours.
    ensure(
        message["allowed_mentions"] == json!({"parse": []}),
        no(400, 50_035),
    )?;
    if call.query.split('&').any(|pair| pair == "wait=true") {
        return Ok((
            200,
            json!({"id": "1", "content": message["content"]}).to_string(),
        ));
    }
    Ok((204, String::new()))
}

fn mattermost(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no = |status: u16, id: &str| {
        let said =
            json!({"id": format!("web.incoming_webhook.{id}.app_error"), "status_code": status});
        move || (status, said.to_string())
    };
    let given = call
        .path
        .strip_prefix("/hooks/")
        .ok_or((404, String::new()))?;
    ensure(posted_json(call), no(400, "parse"))?;
    only(call, &["text", "attachments", "channel"]).map_err(|()| no(400, "parse")())?;
    ensure(within(&call.body["text"], 1, 16_383), no(400, "text"))?;
    ensure(secret(given), no(400, "invalid"))?;
    let channel = call
        .body
        .get("channel")
        .map(|channel| channel.as_str().unwrap_or("?"));
    let named = |channel: &str| {
        !channel.is_empty()
            && channel
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    ensure(channel.is_none_or(named), no(404, "channel"))?;
    for attachment in list(&call.body["attachments"]) {
        let short = |field: &Value| {
            field["title"].is_string() && field["value"].is_string() && field["short"].is_boolean()
        };
        let fits = attachment["text"].is_string()
            && attachment["fallback"].is_string()
            && list(&attachment["fields"]).iter().all(short);
        ensure(fits, no(400, "parse"))?;
    }
    Ok((200, "ok".to_owned()))
}

fn matrix(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no = |status, code: &str| {
        let said = json!({"errcode": code, "error": "No"}).to_string();
        move || (status, said)
    };
    let rest = call.path.strip_prefix("/_matrix/client/v3/rooms/");
    let rest = rest.ok_or_else(|| no(404, "M_UNRECOGNIZED")())?;
    let parts: Vec<&str> = rest.split('/').collect();
    let [room, "send", "m.room.message", transaction] = parts[..] else {
        return Err(no(404, "M_UNRECOGNIZED")());
    };
    ensure(call.method == "PUT", no(405, "M_UNRECOGNIZED"))?;
    let given = call.header("authorization").strip_prefix("Bearer ");
    let given = given.ok_or_else(|| no(401, "M_MISSING_TOKEN")())?;
    ensure(secret(given), no(401, "M_UNKNOWN_TOKEN"))?;
    ensure(room == ROOM, no(403, "M_FORBIDDEN"))?;
    ensure(call.body.is_object(), no(400, "M_NOT_JSON"))?;
    ensure(call.raw.len() <= 65_000, no(413, "M_TOO_LARGE"))?;
    let html =
        call.body["format"] == "org.matrix.custom.html" && call.body["formatted_body"].is_string();
    let fits = call.body["msgtype"] == "m.notice" && within(&call.body["body"], 1, 60_000) && html;
    ensure(fits, no(400, "M_BAD_JSON"))?;
    // The same transaction is the same event.
    Ok((
        200,
        json!({"event_id": format!("${transaction}")}).to_string(),
    ))
}

fn rocket_chat(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no = |status, word: &str| {
        let said = json!({"success": false, "error": word}).to_string();
        move || (status, said)
    };
    let path: Vec<&str> = call.path.split('/').collect();
    let ["", "hooks", _, given] = path[..] else {
        return Err((404, String::new()));
    };
    ensure(
        secret(given),
        no(404, "Invalid integration id or token provided."),
    )?;
    ensure(posted_json(call), no(400, "unknown-error"))?;
    let names_one = call.body.get("channel").or(call.body.get("roomId"));
    ensure(
        names_one.is_none(),
        no(
            400,
            "overriding destination channel is disabled for this integration",
        ),
    )?;
    ensure(
        within(&call.body["text"], 1, 5_000),
        no(400, "error-message-size-exceeded"),
    )?;
    Ok((200, json!({"success": true}).to_string()))
}

fn zulip(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> Result<Said, Said> {
    let no = |status, code: &str| {
        let said = json!({"result": "error", "msg": "No", "code": code}).to_string();
        move || (status, said)
    };
    ensure(
        call.path == "/api/v1/external/slack_incoming",
        no(404, "BAD_REQUEST"),
    )?;
    let asked = |name: &str| {
        call.query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    };
    let given = asked("api_key").ok_or_else(|| no(401, "UNAUTHORIZED")())?;
    ensure(secret(given), no(401, "INVALID_API_KEY"))?;
    ensure(posted_json(call), no(400, "REQUEST_VARIABLE_MISSING"))?;
    ensure(asked("stream").is_some(), no(400, "STREAM_DOES_NOT_EXIST"))?;
    let topic = call.body.get("channel");
    ensure(
        topic.is_none_or(|topic| within(topic, 1, 60)),
        no(400, "BAD_REQUEST"),
    )?;
    ensure(
        within(&call.body["text"], 1, 10_000),
        no(400, "BAD_REQUEST"),
    )?;
    Ok((200, json!({"result": "success", "msg": ""}).to_string()))
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> Said) -> Result<(), Said> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn posted_json(call: &ChatMessage) -> bool {
    call.method == "POST"
        && call.header("content-type") == "application/json"
        && call.body.is_object()
}

/// Whether the body has these fields at most.
fn only(call: &ChatMessage, fields: &[&str]) -> Result<(), ()> {
    let known: BTreeSet<&str> = fields.iter().copied().collect();
    let given = call.body.as_object().ok_or(())?;
    let fits = given.keys().all(|field| known.contains(field.as_str()));
    fits.then_some(()).ok_or(())
}

fn within(text: &Value, least: usize, most: usize) -> bool {
    let length = text.as_str().map(|text| text.chars().count());
    length.is_some_and(|length| (least..=most).contains(&length))
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::ChatReply;

    fn call(kind: ChatKind, body: Value) -> ChatMessage {
        let settings = kind.settings("");
        let hook = settings["webhook_url"].as_str();
        let room = format!("/_matrix/client/v3/rooms/{ROOM}/send/m.room.message/1");
        let (path, query) = hook.map_or((room.as_str(), ""), |hook| {
            hook.split_once('?').unwrap_or((hook, ""))
        });
        let header = |name: &str, value: String| (name.to_owned(), value);
        ChatMessage {
            method: if kind == ChatKind::Matrix {
                "PUT"
            } else {
                "POST"
            }
            .to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers: vec![
                header("content-type", "application/json".to_owned()),
                header("authorization", format!("Bearer {SECRET}")),
            ],
            raw: body.to_string().into_bytes(),
            body,
            at: Instant::now(),
            reply: ChatReply::Status(200),
        }
    }

    fn good(kind: ChatKind) -> Value {
        match kind {
            ChatKind::Discord => json!({"content": "x", "allowed_mentions": {"parse": []}}),
            ChatKind::Matrix => json!({
                "msgtype": "m.notice", "body": "x", "format": "org.matrix.custom.html", "formatted_body": "x"
            }),
            _ => json!({"text": "x"}),
        }
    }

    #[test]
    fn a_strict_chat_takes_what_is_right_and_nothing_that_is_not() {
        for kind in ChatKind::ALL {
            let text = match kind {
                ChatKind::Discord => "content",
                ChatKind::Matrix => "body",
                _ => "text",
            };
            let status = |change: fn(&mut ChatMessage)| {
                let mut call = call(kind, good(kind));
                change(&mut call);
                kind.answer(&call, true).0
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
            let mut empty = call(kind, good(kind));
            empty.body[text] = "".into();
            assert!(kind.answer(&empty, true).0 >= 400, "{kind:?}");
            let mut long = call(kind, good(kind));
            long.body[text] = "x".repeat(70_000).into();
            assert!(kind.answer(&long, true).0 >= 400, "{kind:?}");
            let gone = kind.answer(&call(kind, good(kind)), false).0;
            let expected: &[u16] = if kind == ChatKind::Mattermost {
                &[400]
            } else {
                &[401, 404]
            };
            assert!(expected.contains(&gone), "{kind:?} {gone}");
        }
    }
}
