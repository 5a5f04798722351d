//! Mattermost's incoming webhooks: Slack's format with Markdown.

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::content::compose;
use super::dialect::MarkupDialect;
use super::escape::{Markup, quote};
use super::responses::{self, NO_HOOK, PostOutcome};
#[cfg(test)]
use super::tests::limits::{is_escaped, texts};
use super::{ChatAdapter, Notification};

/// Mattermost's limit for a post is 16,383 characters; attachments may be longer.
const NOTE_LIMIT: usize = 6_000;
const NOTE_LINES: usize = 100;
const DIGEST_LIMIT: usize = 12_000;

/// Mattermost looks for Slack's `<…>` before it parses Markdown. A backslash does not prevent that, but entities do.
const MARKDOWN: Markup = Markup {
    entities: true,
    backslash: "\\`*_[]~|",
    at_line_start: "#-+",
    apart: "",
};

pub(super) struct Mattermost;

impl MarkupDialect for Mattermost {
    fn escape(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }
}

impl ChatAdapter for Mattermost {
    fn write(&self, notifications: &[Notification], channel: &str) -> Value {
        match notifications {
            [one] => message(one, channel),
            several => digest(several, channel),
        }
    }

    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        let id = responses::text(response, "/id");
        match response.status {
            // Mattermost's response for an unknown incoming webhook.
            400 if id == "web.incoming_webhook.invalid.app_error" => (PostOutcome::Gone, NO_HOOK),
            403 | 404 if id.starts_with("web.incoming_webhook.channel") => {
                let hint = ": the hook may not post to the project's channel";
                (PostOutcome::Gone, hint)
            }
            404 => (PostOutcome::Gone, NO_HOOK),
            status => (responses::classify_status(status), ""),
        }
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let mut texts = texts(message).into_iter();
        texts.all(|text| !text.contains('<') && is_escaped(&text, &['[', ']', '|']))
    }
}

fn message(notification: &Notification, channel: &str) -> Value {
    let content = compose(notification);
    let headline = Mattermost.format_part(&content.headline);
    if content.fields.is_empty() {
        return shown(&headline, &[], channel);
    }
    let field = |(title, value): &(_, _)| json!({ "title": title, "value": Mattermost.format_part(value), "short": true });
    let fields: Vec<Value> = content.fields.iter().map(field).collect();
    let attachment = json!({
        "fallback": Mattermost.summary(&content),
        "color": format!("#{:06x}", content.colour.rgb()),
        "text": quote(&MARKDOWN.text(content.note, NOTE_LIMIT), NOTE_LINES),
        "fields": fields,
    });
    shown(&headline, &[attachment], channel)
}

fn digest(items: &[Notification], channel: &str) -> Value {
    let headline = Mattermost.digest_headline(items.len());
    let lines = Mattermost
        .digest_lines(items, "- ", DIGEST_LIMIT)
        .join("\n");
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
