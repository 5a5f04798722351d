//! The markup dialects of the chats.

use chrono::{DateTime, Utc};
use messages::{Text, t};

use super::Notification;
use super::content::{MessageContent, Placeholder, TextPart, compose};
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
const LINE_LIMITS: [LineLimits; 5] = [
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
    fn escape(&self, text: &str, limit: usize) -> String;

    /// Highlights text that [`Self::escape`] has escaped.
    fn bold(&self, escaped: &str) -> String;

    /// Formats a time; in UTC unless the chat supports the reader's time zone.
    fn time(&self, at: DateTime<Utc>) -> String {
        at.format("%H:%M UTC").to_string()
    }

    /// Formats a part of a message with a single notification.
    fn format_part(&self, part: &TextPart<'_>) -> String {
        self.format_within(part, NAME)
    }

    /// Formats headline and detail as one text.
    fn summary(&self, content: &MessageContent<'_>) -> String {
        self.summary_within(content, NAME)
    }

    fn digest_headline(&self, count: usize) -> String {
        self.bold(&t("chat-digest").with("count", count).to_string())
    }

    /// Formats a line with the prefix `bullet` for each notification, as detailed as `budget` allows, line ends
    /// included. For more notifications than a digest has, the last line is the number of missing ones.
    fn digest_lines(&self, items: &[Notification], bullet: &str, budget: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for limits in LINE_LIMITS {
            let line = |item| format!("{bullet}{}", self.digest_line(&compose(item), limits));
            lines = items.iter().map(line).collect();
            if lines.iter().map(|line| units(line) + 1).sum::<usize>() <= budget {
                return lines;
            }
        }
        cut(lines, budget)
    }

    /// Returns how much a line of a digest shows of its notification; none if it belongs to another one.
    fn limits_of(&self, line: &str, content: &MessageContent<'_>) -> Option<LineLimits> {
        let mut levels = LINE_LIMITS.into_iter();
        levels.find(|limits| self.digest_line(content, *limits) == line)
    }

    fn digest_line(&self, content: &MessageContent<'_>, limits: LineLimits) -> String {
        let mut line = self.summary_within(content, limits.name);
        let first = content.note.lines().next().filter(|_| limits.note > 0);
        if let Some(first) = first {
            line.push_str(" – ");
            line.push_str(&self.escape(first, limits.note));
        }
        line
    }

    /// Formats headline and detail, with names of at most `limit`.
    fn summary_within(&self, content: &MessageContent<'_>, limit: usize) -> String {
        let headline = self.format_within(&content.headline, limit);
        let Some(detail) = &content.detail else {
            return headline;
        };
        t("chat-summary")
            .with("headline", headline)
            .with("detail", self.format_within(detail, limit))
            .into()
    }

    /// Formats a part, with names of at most `limit`. User input is escaped before it fills a placeholder.
    fn format_within(&self, part: &TextPart<'_>, limit: usize) -> String {
        match part {
            TextPart::Message(id, parts) => {
                let with = |text: Text, (name, part): &Placeholder<'_>| match part {
                    TextPart::Number(number) => text.with(name, number),
                    part => text.with(name, self.format_within(part, limit)),
                };
                parts.iter().fold(t(id), with).into()
            }
            TextPart::Number(number) => number.to_string(),
            TextPart::UserInput(text) => or_dash(self.escape(text, limit)),
            TextPart::User(name) => self.bold(&or_dash(self.escape(name, limit))),
            TextPart::Time(at) => self.time(*at),
        }
    }
}

/// Replaces an empty text, which some chats refuse.
fn or_dash(shown: String) -> String {
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
