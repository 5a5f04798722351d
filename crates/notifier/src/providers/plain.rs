//! Text-only chats that accept the format of Slack's incoming webhooks.
//!
//! They support `*bold*` and `> quotations` but no backslash. So a character with a meaning is separated from the
//! next one.

use super::Notice;
use super::article::article;
use super::escape::{Markup, quote};
use super::tongue::MarkupDialect;

/// A chat of this kind.
pub(super) struct Plain {
    /// The characters that are separated from the next one.
    pub(super) apart: &'static str,
    pub(super) note_limit: usize,
    pub(super) digest_limit: usize,
}

const NOTE_LINES: usize = 60;

impl MarkupDialect for Plain {
    fn theirs(&self, text: &str, limit: usize) -> String {
        self.markup().line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("*{escaped}*")
    }
}

impl Plain {
    /// Formats one notification in full, or several as a digest.
    pub(super) fn text(&self, notices: &[Notice]) -> String {
        match notices {
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

    fn message(&self, notice: &Notice) -> String {
        let article = article(notice);
        let text = self.summary(&article);
        if article.note.is_empty() {
            return text;
        }
        let note = self.markup().text(article.note, self.note_limit);
        format!("{text}\n{}", quote(&note, NOTE_LINES))
    }

    fn digest(&self, notices: &[Notice]) -> String {
        let headline = self.digest_headline(notices.len());
        let lines = self.digest_lines(notices, "• ", self.digest_limit);
        format!("{headline}\n{}", lines.join("\n"))
    }
}
