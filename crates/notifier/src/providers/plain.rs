//! Chats that borrow Slack's hooks and show text alone.
//!
//! They know `*bold*` and `> quotations` and no backslash, so what has a meaning is held apart from what gives
//! it one.

use super::Notice;
use super::article::article;
use super::escape::{Markup, quote};
use super::tongue::Tongue;

/// A chat of this kind.
pub(super) struct Plain {
    /// What is held apart from what follows.
    pub(super) apart: &'static str,
    pub(super) note_limit: usize,
    pub(super) digest_limit: usize,
}

const NOTE_LINES: usize = 60;

impl Tongue for Plain {
    fn theirs(&self, text: &str, limit: usize) -> String {
        self.markup().line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("*{escaped}*")
    }
}

impl Plain {
    /// One in full, several in a digest.
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
