//! Discord's webhooks. The headline is the content, which Discord shows in notifications; the rest is in an embed.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;
use url::Url;

use super::answers::{self, NO_HOOK, PostOutcome};
use super::article::{AccentColour, article};
use super::escape::{Markup, quote};
#[cfg(test)]
use super::tests::limits::{is_escaped, texts};
use super::tongue::MarkupDialect;
use super::{ChatAdapter, Notice};

/// Discord's limit is 4,096 characters for a description, and 6,000 for a whole embed.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST: usize = 3_800;

/// A backslash escapes any of these characters.
const MARKDOWN: Markup = Markup {
    backslash: "\\*_~`|[]<>",
    at_line_start: "#-+",
    ..Markup::NONE
};

pub(super) struct Discord;

impl MarkupDialect for Discord {
    fn theirs(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }

    /// Discord shows the time in the time zone of each reader.
    fn time(&self, at: DateTime<Utc>) -> String {
        format!("<t:{}:t>", at.timestamp())
    }
}

impl ChatAdapter for Discord {
    fn write(&self, notices: &[Notice], _channel: &str) -> Value {
        match notices {
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

    fn judge(&self, answer: &GuardedResponse) -> (PostOutcome, &'static str) {
        match answer.status {
            404 => (PostOutcome::Gone, NO_HOOK),
            status => (answers::sense(status), ""),
        }
    }

    fn asked_wait(&self, answer: &GuardedResponse) -> Option<Duration> {
        answers::asked_wait(answer, "retry_after", 1.0)
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let plain = |text: String| text.replace("<t:1795003000:t>", "");
        let mut texts = texts(message).into_iter().map(plain);
        message["allowed_mentions"] == json!({"parse": []})
            && texts.all(|text| is_escaped(&text, &['<', '[', ']']))
    }
}

fn message(notice: &Notice) -> Value {
    let article = article(notice);
    let headline = Discord.say(&article.headline);
    if article.facts.is_empty() {
        return shown(&headline, None);
    }
    let field = |(name, value): &(_, _)| json!({ "name": name, "value": Discord.say(value), "inline": true });
    let fields: Vec<Value> = article.facts.iter().map(field).collect();
    let mut embed = json!({ "color": article.mood.colour(), "fields": fields });
    if let (false, Some(embed)) = (article.note.is_empty(), embed.as_object_mut()) {
        let quoted = quote(&MARKDOWN.text(article.note, NOTE_LIMIT), NOTE_LINES);
        embed.insert("description".to_owned(), quoted.into());
    }
    shown(&headline, Some(embed))
}

fn digest(notices: &[Notice]) -> Value {
    let lines = Discord.digest_lines(notices, "• ", DIGEST).join("\n");
    let embed = json!({ "color": AccentColour::Neutral.colour(), "description": lines });
    shown(&Discord.digest_headline(notices.len()), Some(embed))
}

fn shown(content: &str, embed: Option<Value>) -> Value {
    let embeds: Vec<Value> = embed.into_iter().collect();
    // Prevents mentions even if escaping misses one.
    json!({ "content": content, "embeds": embeds, "allowed_mentions": { "parse": [] } })
}
