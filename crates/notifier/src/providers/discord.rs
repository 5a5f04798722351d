//! Discord's webhooks. The headline is the content, which Discord shows in notifications; the rest is in an embed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;
use url::Url;

use super::content::{AccentColour, compose};
use super::dialect::MarkupDialect;
use super::escape::{Markup, quote};
use super::responses::{self, NO_HOOK, PostOutcome};
#[cfg(test)]
use super::tests::limits::{is_escaped, texts};
use super::{ChatAdapter, Notification};

/// Discord's limit is 4,096 characters for a description, and 6,000 for a whole embed.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST_LIMIT: usize = 3_800;

/// A backslash escapes any of these characters.
const MARKDOWN: Markup = Markup {
    backslash: "\\*_~`|[]<>",
    at_line_start: "#-+",
    ..Markup::NONE
};

pub(super) struct Discord;

impl MarkupDialect for Discord {
    fn escape(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }

    /// Discord shows the time in the time zone of each reader.
    fn time(&self, at: DateTime<Utc>) -> String {
        format!("<t:{}:t>", at.timestamp())
    }
}

impl ChatAdapter for Discord {
    fn write(&self, notifications: &[Notification], _channel: &str) -> Value {
        match notifications {
            [one] => message(one),
            several => digest(several),
        }
    }

    /// Adds `wait`. Without it, Discord answers before it knows whether it accepts the message. A URL that does not
    /// parse is returned unchanged, and the call then fails.
    fn hook_url(&self, webhook_url: &str) -> String {
        let Ok(mut url) = Url::parse(webhook_url) else {
            return webhook_url.to_owned();
        };
        let pairs = url.query_pairs().into_owned();
        let kept: Vec<(String, String)> = pairs.filter(|(name, _)| name != "wait").collect();
        url.query_pairs_mut()
            .clear()
            .extend_pairs(kept)
            .append_pair("wait", "true");
        url.into()
    }

    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        match response.status {
            404 => (PostOutcome::Gone, NO_HOOK),
            status => (responses::classify_status(status), ""),
        }
    }

    fn retry_after(&self, response: &GuardedResponse) -> Option<Duration> {
        responses::retry_after(response, "retry_after", 1.0)
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let plain = |text: String| text.replace("<t:1795003000:t>", "");
        let mut texts = texts(message).into_iter().map(plain);
        message["allowed_mentions"] == json!({"parse": []})
            && texts.all(|text| is_escaped(&text, &['<', '[', ']']))
    }
}

fn message(notification: &Notification) -> Value {
    let content = compose(notification);
    let headline = Discord.format_part(&content.headline);
    if content.fields.is_empty() {
        return shown(&headline, None);
    }
    let field = |(name, value): &(_, _)| json!({ "name": name, "value": Discord.format_part(value), "inline": true });
    let fields: Vec<Value> = content.fields.iter().map(field).collect();
    let mut embed = json!({ "color": content.colour.rgb(), "fields": fields });
    if let (false, Some(embed)) = (content.note.is_empty(), embed.as_object_mut()) {
        let quoted = quote(&MARKDOWN.text(content.note, NOTE_LIMIT), NOTE_LINES);
        embed.insert("description".to_owned(), quoted.into());
    }
    shown(&headline, Some(embed))
}

fn digest(notifications: &[Notification]) -> Value {
    let lines = Discord
        .digest_lines(notifications, "• ", DIGEST_LIMIT)
        .join("\n");
    let embed = json!({ "color": AccentColour::Neutral.rgb(), "description": lines });
    shown(&Discord.digest_headline(notifications.len()), Some(embed))
}

fn shown(content: &str, embed: Option<Value>) -> Value {
    let embeds: Vec<Value> = embed.into_iter().collect();
    // Prevents mentions even if escaping misses one.
    json!({ "content": content, "embeds": embeds, "allowed_mentions": { "parse": [] } })
}
