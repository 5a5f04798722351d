//! The markup dialects of the chats.

use chrono::{DateTime, Utc};
use messages::{Text, t};

use super::Notice;
use super::article::{MessageContent, Part, TextPart, article};
use super::escape::units;

/// The longest name in a message with a single notification.
const NAME: usize = 300;

/// How much of a notification a line of a digest shows.
#[derive(Clone, Copy)]
pub(super) struct LineLimits {
    name: usize,
    /// The longest first line of a note.
    note: usize,
}

/// From the most to the least. With the last one, twenty notifications fit into a message of every chat, whatever the
/// user input is. So each of them has a line.
const ROOMS: [LineLimits; 5] = [
    LineLimits {
        name: 60,
        note: 100,
    },
    LineLimits { name: 60, note: 40 },
    LineLimits { name: 60, note: 0 },
    LineLimits { name: 20, note: 0 },
    LineLimits { name: 8, note: 0 },
];

/// How one chat writes names, bold text and times.
pub(super) trait MarkupDialect {
    /// Escapes user input, on one line.
    fn theirs(&self, text: &str, limit: usize) -> String;

    /// Highlights text that [`Self::theirs`] has escaped.
    fn strong(&self, escaped: &str) -> String;

    /// Formats a time; in UTC unless the chat supports the reader's time zone.
    fn time(&self, at: DateTime<Utc>) -> String {
        at.format("%H:%M UTC").to_string()
    }

    /// Formats a part of a message with a single notification.
    fn say(&self, part: &TextPart<'_>) -> String {
        self.fill(part, NAME)
    }

    /// Formats headline and detail as one text.
    fn summary(&self, article: &MessageContent<'_>) -> String {
        self.sum_up(article, NAME)
    }

    fn digest_headline(&self, count: usize) -> String {
        self.strong(&t("chat-digest").with("count", count).to_string())
    }

    /// Formats a line with the prefix `mark` for each notification, as detailed as `budget` allows, line ends
    /// included. For more notifications than a digest has, the last line is the number of missing ones.
    fn digest_lines(&self, notices: &[Notice], mark: &str, budget: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for room in ROOMS {
            let line = |notice| format!("{mark}{}", self.digest_line(&article(notice), room));
            lines = notices.iter().map(line).collect();
            if lines.iter().map(|line| units(line) + 1).sum::<usize>() <= budget {
                return lines;
            }
        }
        cut(lines, budget)
    }

    /// Returns how much a line of a digest shows of its notification; none if it belongs to another one.
    fn room_of(&self, line: &str, article: &MessageContent<'_>) -> Option<LineLimits> {
        let mut rooms = ROOMS.into_iter();
        rooms.find(|room| self.digest_line(article, *room) == line)
    }

    fn digest_line(&self, article: &MessageContent<'_>, room: LineLimits) -> String {
        let mut line = self.sum_up(article, room.name);
        let first = article.note.lines().next().filter(|_| room.note > 0);
        if let Some(first) = first {
            line.push_str(" – ");
            line.push_str(&self.theirs(first, room.note));
        }
        line
    }

    /// Formats headline and detail, with names of at most `limit`.
    fn sum_up(&self, article: &MessageContent<'_>, limit: usize) -> String {
        let headline = self.fill(&article.headline, limit);
        let Some(detail) = &article.detail else {
            return headline;
        };
        t("chat-summary")
            .with("headline", headline)
            .with("detail", self.fill(detail, limit))
            .into()
    }

    /// Formats a part, with names of at most `limit`. User input is escaped before it fills a placeholder.
    fn fill(&self, part: &TextPart<'_>, limit: usize) -> String {
        match part {
            TextPart::Ours(id, parts) => {
                let with = |text: Text, (name, part): &Part<'_>| match part {
                    TextPart::Number(number) => text.with(name, number),
                    part => text.with(name, self.fill(part, limit)),
                };
                parts.iter().fold(t(id), with).into()
            }
            TextPart::Number(number) => number.to_string(),
            TextPart::Theirs(text) => some(self.theirs(text, limit)),
            TextPart::Who(name) => self.strong(&some(self.theirs(name, limit))),
            TextPart::Time(at) => self.time(*at),
        }
    }
}

/// Replaces an empty text, which some chats refuse.
fn some(shown: String) -> String {
    if shown.is_empty() {
        "–".to_owned()
    } else {
        shown
    }
}

/// Returns the lines that fit into `budget`, and one with the number of the others.
fn cut(all: Vec<String>, budget: usize) -> Vec<String> {
    let more = |count: usize| t("chat-digest-more").with("count", count).to_string();
    let count = all.len();
    let mut left = budget.saturating_sub(units(&more(count)) + 1);
    let mut lines = Vec::new();
    for line in all {
        let cost = units(&line) + 1;
        if cost > left {
            break;
        }
        left -= cost;
        lines.push(line);
    }
    lines.push(more(count - lines.len()));
    lines
}
