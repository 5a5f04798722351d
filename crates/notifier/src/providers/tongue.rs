//! How the pieces of an article become a chat's text.

use chrono::{DateTime, Utc};

use super::Notice;
use super::article::{Article, Piece, Sentence, article};
use super::escape::units;

/// The longest name in a message of its own, and in a line of a digest.
const NAME: usize = 300;
const SHORT_NAME: usize = 60;
/// The longest first line of a note in a digest.
const NOTE_LINE: usize = 100;

/// A chat's way of putting things.
pub(super) trait Tongue {
    /// What a person typed, on one line.
    fn theirs(&self, text: &str, limit: usize) -> String;

    /// What [`Self::theirs`] gave, set off from the rest.
    fn strong(&self, escaped: &str) -> String;

    /// A moment; the same for all readers unless the chat knows better.
    fn time(&self, at: DateTime<Utc>) -> String {
        at.format("%H:%M UTC").to_string()
    }

    /// A sentence of a message of its own.
    fn say(&self, sentence: &Sentence<'_>) -> String {
        self.join(sentence, NAME)
    }

    /// Headline and detail in one.
    fn summary(&self, article: &Article<'_>) -> String {
        self.sum_up(article, NAME)
    }

    /// The headline of a digest.
    fn digest_headline(&self, count: usize) -> String {
        self.strong(&format!("{count} focus sessions"))
    }

    /// A line for each notice, each after `mark`, as many as fit into `budget` with the line ends between them;
    /// the last one says how many more there are.
    fn digest_lines(&self, notices: &[Notice], mark: &str, budget: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut left = budget;
        for (index, notice) in notices.iter().enumerate() {
            let line = format!("{mark}{}", self.digest_line(&article(notice)));
            let more = |count: usize| format!("… and {count} more");
            let last = index + 1 == notices.len();
            // Room stays for the line that says what is missing.
            let reserve = if last {
                0
            } else {
                units(&more(notices.len())) + 1
            };
            let cost = units(&line) + 1;
            if cost + reserve > left {
                lines.push(more(notices.len() - index));
                break;
            }
            left -= cost;
            lines.push(line);
        }
        lines
    }

    /// One notice in a digest.
    fn digest_line(&self, article: &Article<'_>) -> String {
        let mut line = self.sum_up(article, SHORT_NAME);
        if let Some(first) = article.note.lines().next() {
            line.push_str(" – ");
            line.push_str(&self.theirs(first, NOTE_LINE));
        }
        line
    }

    /// Headline and detail with names of at most `limit`.
    fn sum_up(&self, article: &Article<'_>, limit: usize) -> String {
        let headline = self.join(&article.headline, limit);
        if article.detail.is_empty() {
            return headline;
        }
        format!("{headline}: {}", self.join(&article.detail, limit))
    }

    /// The pieces one after the other, with names of at most `limit`.
    fn join(&self, sentence: &Sentence<'_>, limit: usize) -> String {
        let piece = |piece: &Piece<'_>| match piece {
            Piece::Ours(words) => words.clone(),
            Piece::Theirs(text) => some(self.theirs(text, limit)),
            Piece::Who(name) => self.strong(&some(self.theirs(name, limit))),
            Piece::Time(at) => self.time(*at),
        };
        sentence.iter().map(piece).collect()
    }
}

/// Some chats refuse a place with nothing in it.
fn some(shown: String) -> String {
    if shown.is_empty() {
        "–".to_owned()
    } else {
        shown
    }
}
