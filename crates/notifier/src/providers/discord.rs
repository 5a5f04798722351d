//! Discord's webhooks: the headline as content, which notifications show, and the rest in an embed.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::Notice;
use super::article::{Mood, article};
use super::escape::{Markup, quote};
use super::tongue::Tongue;

/// Discord's limit for a description is 4,096 characters, for all of an embed 6,000.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST: usize = 3_800;

/// A backslash makes any sign plain.
const MARKDOWN: Markup = Markup {
    entities: false,
    backslash: "\\*_~`|[]<>",
    at_line_start: "#-+",
    apart: "",
};

struct Discord;

impl Tongue for Discord {
    fn theirs(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }

    /// Shown in each reader's own zone.
    fn time(&self, at: DateTime<Utc>) -> String {
        format!("<t:{}:t>", at.timestamp())
    }
}

/// One in full, several in a digest.
pub(super) fn write(notices: &[Notice]) -> Value {
    match notices {
        [one] => message(one),
        several => digest(several),
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
    let embed = json!({ "color": Mood::Neutral.colour(), "description": lines });
    shown(&Discord.digest_headline(notices.len()), Some(embed))
}

fn shown(content: &str, embed: Option<Value>) -> Value {
    let embeds: Vec<Value> = embed.into_iter().collect();
    // Whatever slips through calls nobody.
    json!({ "content": content, "embeds": embeds, "allowed_mentions": { "parse": [] } })
}
