//! Text-only chats that accept the format of Slack's incoming webhooks.
//!
//! They support `*bold*` and `> quotations` but no backslash. So a character with a meaning is separated from the
//! next one.

use super::Notification;
use super::content::compose;
use super::dialect::MarkupDialect;
use super::escape::{Markup, quote};

/// A chat of this kind.
pub(super) struct Plain {
    /// The characters that are separated from the next one.
    pub(super) apart: &'static str,
    pub(super) note_limit: usize,
    pub(super) digest_limit: usize,
}

const NOTE_LINES: usize = 60;

impl MarkupDialect for Plain {
    fn escape(&self, text: &str, limit: usize) -> String {
        self.markup().line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        format!("*{escaped}*")
    }
}

impl Plain {
    /// Formats one notification in full, or several as a digest.
    pub(super) fn text(&self, notifications: &[Notification]) -> String {
        match notifications {
            [one] => self.message(one),
            several => self.digest(several),
        }
    }

    fn markup(&self) -> Markup {
        Markup {
            apart: self.apart,
            ..Markup::NONE
        }
    }

    fn message(&self, notification: &Notification) -> String {
        let content = compose(notification);
        let text = self.summary(&content);
        if content.note.is_empty() {
            return text;
        }
        let note = self.markup().text(content.note, self.note_limit);
        format!("{text}\n{}", quote(&note, NOTE_LINES))
    }

    fn digest(&self, notifications: &[Notification]) -> String {
        let headline = self.digest_headline(notifications.len());
        let lines = self.digest_lines(notifications, "• ", self.digest_limit);
        format!("{headline}\n{}", lines.join("\n"))
    }
}
