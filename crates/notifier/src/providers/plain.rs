//! Chats that borrow Slack's hooks and show text alone: Rocket.Chat and Zulip.
//!
//! Both know `*bold*` and `> quotations` and no backslash, so what has a meaning is held apart from what gives
//! it one.

use serde_json::{Value, json};

use super::Notice;
use super::article::article;
use super::escape::{Markup, quote};
use super::tongue::Tongue;

/// A chat of this kind.
pub(super) struct Plain {
    markup: Markup,
    note_limit: usize,
    digest_limit: usize,
    /// The project's channel is the topic, unless the hook's address names one.
    topic: bool,
}

/// 5,000 characters a message. A hook may name no channel unless its owner allowed that, so none is named.
pub(super) const ROCKET_CHAT: Plain = Plain {
    markup: Markup {
        entities: false,
        backslash: "",
        at_line_start: "",
        apart: "<[]|\\#:`!",
    },
    note_limit: 2_800,
    digest_limit: 4_500,
    topic: false,
};

/// 10,000 characters a message.
pub(super) const ZULIP: Plain = Plain {
    markup: Markup {
        entities: false,
        backslash: "",
        at_line_start: "",
        apart: "<[]|\\#:`*_~$!",
    },
    note_limit: 5_000,
    digest_limit: 9_000,
    topic: true,
};

const NOTE_LINES: usize = 60;
/// The longest topic of Zulip.
const TOPIC: usize = 60;

impl Tongue for Plain {
    fn theirs(&self, text: &str, limit: usize) -> String {
        self.markup.line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("*{escaped}*")
    }
}

impl Plain {
    /// One in full, several in a digest.
    pub(super) fn write(&self, notices: &[Notice], channel: &str) -> Value {
        let text = match notices {
            [one] => self.message(one),
            several => self.digest(several),
        };
        let channel: String = channel.trim().chars().take(TOPIC).collect();
        if self.topic && !channel.is_empty() {
            return json!({ "text": text, "channel": channel });
        }
        json!({ "text": text })
    }

    fn message(&self, notice: &Notice) -> String {
        let article = article(notice);
        let text = self.summary(&article);
        if article.note.is_empty() {
            return text;
        }
        let note = self.markup.text(article.note, self.note_limit);
        format!("{text}\n{}", quote(&note, NOTE_LINES))
    }

    fn digest(&self, notices: &[Notice]) -> String {
        let headline = self.digest_headline(notices.len());
        let lines = self.digest_lines(notices, "• ", self.digest_limit);
        format!("{headline}\n{}", lines.join("\n"))
    }
}
