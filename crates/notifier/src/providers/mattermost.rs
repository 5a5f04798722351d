//! Mattermost's incoming webhooks: Slack's format with Markdown.

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::answers::{self, NO_HOOK, PostOutcome};
use super::article::article;
use super::escape::{Markup, quote};
#[cfg(test)]
use super::tests::limits::{is_escaped, texts};
use super::tongue::MarkupDialect;
use super::{ChatAdapter, Notice};

/// Mattermost's limit for a post is 16,383 characters; attachments may be longer.
const NOTE_LIMIT: usize = 6_000;
const NOTE_LINES: usize = 100;
const DIGEST: usize = 12_000;

/// Mattermost looks for Slack's `<…>` before it parses Markdown. A backslash does not prevent that, but entities do.
const MARKDOWN: Markup = Markup {
    entities: true,
    backslash: "\\`*_[]~|",
    at_line_start: "#-+",
    apart: "",
};

pub(super) struct Mattermost;

impl MarkupDialect for Mattermost {
    fn theirs(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }
}

impl ChatAdapter for Mattermost {
    fn write(&self, notices: &[Notice], channel: &str) -> Value {
        match notices {
            [one] => message(one, channel),
            several => digest(several, channel),
        }
    }

    fn judge(&self, answer: &GuardedResponse) -> (PostOutcome, &'static str) {
        let id = answers::text(answer, "/id");
        match answer.status {
            // Mattermost's response for an unknown incoming webhook.
            400 if id == "web.incoming_webhook.invalid.app_error" => (PostOutcome::Gone, NO_HOOK),
            403 | 404 if id.starts_with("web.incoming_webhook.channel") => {
                let advice = ": the hook may not post to the project's channel";
                (PostOutcome::Gone, advice)
            }
            404 => (PostOutcome::Gone, NO_HOOK),
            status => (answers::sense(status), ""),
        }
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let mut texts = texts(message).into_iter();
        texts.all(|text| !text.contains('<') && is_escaped(&text, &['[', ']', '|']))
    }
}

fn message(notice: &Notice, channel: &str) -> Value {
    let article = article(notice);
    let headline = Mattermost.say(&article.headline);
    if article.facts.is_empty() {
        return shown(&headline, &[], channel);
    }
    let field = |(title, value): &(_, _)| json!({ "title": title, "value": Mattermost.say(value), "short": true });
    let fields: Vec<Value> = article.facts.iter().map(field).collect();
    let attachment = json!({
        "fallback": Mattermost.summary(&article),
        "color": format!("#{:06x}", article.mood.colour()),
        "text": quote(&MARKDOWN.text(article.note, NOTE_LIMIT), NOTE_LINES),
        "fields": fields,
    });
    shown(&headline, &[attachment], channel)
}

fn digest(notices: &[Notice], channel: &str) -> Value {
    let headline = Mattermost.digest_headline(notices.len());
    let lines = Mattermost.digest_lines(notices, "- ", DIGEST).join("\n");
    shown(&format!("{headline}\n\n{lines}"), &[], channel)
}

fn shown(text: &str, attachments: &[Value], channel: &str) -> Value {
    let mut message = json!({ "text": text, "attachments": attachments });
    let channel = channel.trim().trim_start_matches('#');
    // "@" would send a direct message. Without a channel, Mattermost uses that of the incoming webhook.
    if let (Some(message), false) = (
        message.as_object_mut(),
        channel.is_empty() || channel.starts_with('@'),
    ) {
        message.insert("channel".to_owned(), channel.into());
    }
    message
}
