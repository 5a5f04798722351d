//! Slack's incoming webhooks: blocks with `mrkdwn`, and the same as text for notifications.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::content::compose;
use super::dialect::MarkupDialect;
use super::escape::{Markup, quote, units};
#[cfg(test)]
use super::tests::limits::texts;
use super::{ChatAdapter, Notification};

/// Slack's limit is 3,000 characters for the text of a section, and 2,000 for a field.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const SECTION: usize = 2_800;
/// Spread over several sections, so that each notification has its line. A message may have fifty sections.
const DIGEST_LIMIT: usize = 20_000;
/// The limit for the text that replaces the blocks.
const FALLBACK: usize = 2_800;

/// According to Slack, only `&`, `<` and `>` must be escaped.
const MRKDWN: Markup = Markup {
    entities: true,
    ..Markup::NONE
};

pub(super) struct Slack;

impl MarkupDialect for Slack {
    fn escape(&self, text: &str, limit: usize) -> String {
        MRKDWN.line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        format!("*{escaped}*")
    }

    /// Slack shows the time in the time zone of each reader, or the UTC text in clients without support.
    fn time(&self, at: DateTime<Utc>) -> String {
        format!(
            "<!date^{}^{{time}}|{}>",
            at.timestamp(),
            at.format("%H:%M UTC")
        )
    }
}

impl ChatAdapter for Slack {
    fn write(&self, notifications: &[Notification], _channel: &str) -> Value {
        match notifications {
            [one] => message(one),
            several => digest(several),
        }
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        let mut texts = texts(message).into_iter();
        texts.all(|text| !text.replace("<!date^", "").contains('<'))
    }
}

fn message(notification: &Notification) -> Value {
    let content = compose(notification);
    let mut text = Slack.summary(&content);
    let mut blocks = vec![section(&Slack.format_part(&content.headline))];
    if !content.fields.is_empty() {
        let fields = content.fields.iter().map(
            |(name, value)| json!({ "type": "mrkdwn", "text": format!("*{name}*\n{}", Slack.format_part(value)) }),
        );
        blocks.push(json!({ "type": "section", "fields": fields.collect::<Vec<_>>() }));
    }
    if !content.note.is_empty() {
        let quoted = quote(&MRKDWN.text(content.note, NOTE_LIMIT), NOTE_LINES);
        blocks.push(section(&quoted));
        text = format!("{text}\n{quoted}");
    }
    shown(&text, &blocks)
}

fn digest(notifications: &[Notification]) -> Value {
    let headline = Slack.digest_headline(notifications.len());
    let mut texts: Vec<String> = vec![headline.clone()];
    let mut room = 0;
    for line in Slack.digest_lines(notifications, "• ", DIGEST_LIMIT) {
        let cost = units(&line) + 1;
        match texts.last_mut() {
            Some(text) if cost <= room => {
                text.push('\n');
                text.push_str(&line);
            }
            _ => {
                texts.push(line);
                room = SECTION;
            }
        }
        room = room.saturating_sub(cost);
    }
    let blocks: Vec<Value> = texts.iter().map(|text| section(text)).collect();
    let lines = Slack.digest_lines(notifications, "• ", FALLBACK).join("\n");
    shown(&format!("{headline}\n{lines}"), &blocks)
}

fn section(text: &str) -> Value {
    json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } })
}

/// Slack shows the blocks, and uses `text` where they have no room.
fn shown(text: &str, blocks: &[Value]) -> Value {
    json!({ "text": text, "blocks": blocks, "unfurl_links": false, "unfurl_media": false })
}
