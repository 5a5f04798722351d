//! What each chat requires, and how it rejects a message.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ChatAnswer;
use crate::ChatMessage;

/// The response to a good message, or to one that breaks a rule.
type RuleResult = Result<ChatAnswer, ChatAnswer>;

/// The only room of a strict Matrix, as it appears in a path.
pub(super) const ROOM: &str = "%21focus%3Amatrix%2Eexample";

/// The path of the only workflow of a strict Teams.
pub(super) const WORKFLOW: &str =
    "/powerautomate/automations/direct/workflows/b950a561/triggers/manual/paths/invoke";

pub(super) fn slack(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
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

/// Rejects at once what Teams would reject, although a real workflow responds before Teams has seen the card.
pub(super) fn ms_teams(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
    let no = |status, code: &str| {
        let said = json!({"error": {"code": code, "message": "No"}}).to_string();
        move || (status, said)
    };
    ensure(call.path == WORKFLOW, no(404, "WorkflowNotFound"))?;
    let mut pairs = call.query.split('&');
    let given = pairs.find_map(|pair| pair.strip_prefix("sig="));
    let signed = given.filter(|_| call.header("authorization").is_empty());
    let given = signed.ok_or_else(|| no(401, "DirectApiAuthorizationRequired")())?;
    ensure(secret(given), no(400, "WorkflowTriggerIsNotEnabled"))?;
    ensure(posted_json(call), no(400, "TriggerInputSchemaMismatch"))?;
    // Microsoft says "about 28 KB", and counts bots' messages as UTF-16.
    let utf16 = String::from_utf8_lossy(&call.raw).encode_utf16().count() * 2;
    ensure(
        call.raw.len().max(utf16) <= 28_000,
        no(413, "RequestEntityTooLarge"),
    )?;
    only(call, &["type", "attachments"]).map_err(|()| no(400, "BadRequest")())?;
    let attachments = list(&call.body["attachments"]);
    let card = |attachment: &Value| {
        let (card, body) = (&attachment["content"], list(&attachment["content"]["body"]));
        attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
            && card["type"] == "AdaptiveCard"
            && card["version"] == "1.4"
            && !body.is_empty()
            && body.iter().all(is_element)
    };
    let fits = call.body["type"] == "message" && attachments.len() == 1;
    ensure(fits && attachments.iter().all(card), no(400, "BadRequest"))?;
    Ok((202, String::new()))
}

/// Whether an Adaptive Card can contain this. Only the elements that a chat has a use for are accepted.
fn is_element(element: &Value) -> bool {
    let fact =
        |fact: &Value| within(&fact["title"], 1, 28_000) && within(&fact["value"], 1, 28_000);
    let (facts, items) = (list(&element["facts"]), list(&element["items"]));
    match element["type"].as_str() {
        Some("TextBlock") => within(&element["text"], 1, 28_000),
        Some("FactSet") => !facts.is_empty() && facts.iter().all(fact),
        Some("Container") => !items.is_empty() && items.iter().all(is_element),
        _ => false,
    }
}

pub(super) fn discord(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
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
    // This is not Discord's rule but ours.
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

pub(super) fn mattermost(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
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

pub(super) fn matrix(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
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

pub(super) fn rocket_chat(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
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

pub(super) fn zulip(call: &ChatMessage, secret: impl Fn(&str) -> bool) -> RuleResult {
    let no = |status, code: &str| {
        let said = json!({"result": "error", "msg": "No", "code": code}).to_string();
        move || (status, said)
    };
    ensure(
        call.path == "/api/v1/external/slack_incoming",
        no(404, "BAD_REQUEST"),
    )?;
    let parameter = |name: &str| {
        call.query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    };
    let given = parameter("api_key").ok_or_else(|| no(401, "UNAUTHORIZED")())?;
    ensure(secret(given), no(401, "INVALID_API_KEY"))?;
    ensure(posted_json(call), no(400, "REQUEST_VARIABLE_MISSING"))?;
    ensure(
        parameter("stream").is_some(),
        no(400, "STREAM_DOES_NOT_EXIST"),
    )?;
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

fn ensure(holds: bool, otherwise: impl FnOnce() -> ChatAnswer) -> Result<(), ChatAnswer> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

fn posted_json(call: &ChatMessage) -> bool {
    call.method == "POST"
        && call.header("content-type") == "application/json"
        && call.body.is_object()
}

/// Checks that the body has no other fields than these.
fn only(call: &ChatMessage, fields: &[&str]) -> Result<(), ()> {
    let known: BTreeSet<&str> = fields.iter().copied().collect();
    let given = call.body.as_object().ok_or(())?;
    let fits = given.keys().all(|field| known.contains(field.as_str()));
    fits.then_some(()).ok_or(())
}

fn within(text: &Value, least: usize, most: usize) -> bool {
    // Some chats count characters, others UTF-16 units, of which a text never has fewer.
    let length = text.as_str().map(|text| text.encode_utf16().count());
    length.is_some_and(|length| (least..=most).contains(&length))
}

pub(super) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}
