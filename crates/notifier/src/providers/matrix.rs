//! Rooms of Matrix. The message is an `m.notice`, which bots never answer, as text and as HTML.

use std::time::Duration;

use event_types::ChatAddress;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde_json::{Value, json};
use service_kit::guard::{GuardedResponse, Method};

use super::content::compose;
use super::dialect::MarkupDialect;
use super::escape::{Markup, quote};
use super::responses::{self, PostOutcome};
use super::{ChatAdapter, ChatRequest, Notification};

/// An event has at most 64 KiB in total, and contains each text twice.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST_LIMIT: usize = 6_000;

const PLAIN: Markup = Markup::NONE;

pub(super) struct Matrix;

/// The body, for clients that show plain text.
struct Text;

/// The formatted body.
struct Html;

impl MarkupDialect for Text {
    fn escape(&self, text: &str, limit: usize) -> String {
        PLAIN.line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        escaped.to_owned()
    }
}

impl MarkupDialect for Html {
    fn escape(&self, text: &str, limit: usize) -> String {
        html(&PLAIN.line(text, limit))
    }

    fn bold(&self, escaped: &str) -> String {
        format!("<b>{escaped}</b>")
    }
}

impl ChatAdapter for Matrix {
    fn write(&self, notifications: &[Notification], _channel: &str) -> Value {
        match notifications {
            [one] => message(one),
            several => digest(several),
        }
    }

    /// Returns the call that sends the event to the room. The server stores one event per transaction id.
    fn call(&self, to: &ChatAddress, transaction: &str, body: Value) -> Option<ChatRequest> {
        let ChatAddress::Room {
            homeserver_url,
            room_id,
            access_token,
        } = to
        else {
            return None;
        };
        let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let url = format!(
            "{}/_matrix/client/v3/rooms/{}/send/m.room.message/{}",
            homeserver_url.trim_end_matches('/'),
            encode(room_id),
            encode(transaction)
        );
        Some(ChatRequest {
            method: Method::PUT,
            url,
            bearer: Some(SecretString::from(access_token.as_str())),
            body,
        })
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        let code = responses::text(response, "/errcode");
        match response.status {
            401 => (PostOutcome::Gone, ": the access token is not valid"),
            403 if code == "M_FORBIDDEN" => (
                PostOutcome::Gone,
                ": the token's user may not post to the room",
            ),
            // The server is over a limit. This says nothing about the token or the room.
            403 if code == "M_RESOURCE_LIMIT_EXCEEDED" => (PostOutcome::Retry, ""),
            status => (responses::classify_status(status), ""),
        }
    }

    fn retry_after(&self, response: &GuardedResponse) -> Option<Duration> {
        responses::retry_after(response, "retry_after_ms", 0.001)
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let formatted = message["formatted_body"].as_str().unwrap_or_default();
        let ours =
            ["b", "blockquote", "ul", "li"].map(|tag| [format!("<{tag}>"), format!("</{tag}>")]);
        let strip = |text: String, tag: &String| text.replace(tag, "");
        let user_text = ours
            .iter()
            .flatten()
            .fold(formatted.replace("<br>", ""), strip);
        message["m.mentions"] == json!({}) && !user_text.contains(['<', '"'])
    }
}

fn message(notification: &Notification) -> Value {
    let content = compose(notification);
    let (mut text, mut formatted) = (Text.summary(&content), Html.summary(&content));
    if !content.note.is_empty() {
        let note = PLAIN.text(content.note, NOTE_LIMIT);
        text = format!("{text}\n{}", quote(&note, NOTE_LINES));
        let lines: Vec<String> = note.lines().map(html).collect();
        formatted = format!("{formatted}<blockquote>{}</blockquote>", lines.join("<br>"));
    }
    shown(&text, &formatted)
}

/// Formats several notifications.
fn digest(items: &[Notification]) -> Value {
    let lines = Text.digest_lines(items, "", DIGEST_LIMIT);
    let line = |(index, text): (usize, &String)| match items.get(index) {
        // The last line may contain the number of missing ones instead.
        Some(item) => match Text.limits_of(text, &compose(item)) {
            Some(limits) => format!("<li>{}</li>", Html.digest_line(&compose(item), limits)),
            None => format!("<li>{}</li>", html(text)),
        },
        None => format!("<li>{}</li>", html(text)),
    };
    let list: String = lines.iter().enumerate().map(line).collect();
    let bullets: Vec<String> = lines.iter().map(|line| format!("• {line}")).collect();
    shown(
        &format!(
            "{}\n{}",
            Text.digest_headline(items.len()),
            bullets.join("\n")
        ),
        &format!("{}<ul>{list}</ul>", Html.digest_headline(items.len())),
    )
}

fn shown(text: &str, formatted: &str) -> Value {
    json!({
        "msgtype": "m.notice",
        "body": text,
        "format": "org.matrix.custom.html",
        "formatted_body": formatted,
        // States that there are no mentions, so that no server looks for names in the text.
        "m.mentions": {},
    })
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
