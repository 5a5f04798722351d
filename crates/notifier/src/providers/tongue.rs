//! How the pieces of an article become a chat's text.

use chrono::{DateTime, Utc};

use super::Notice;
use super::article::{Article, Piece, Sentence, article};
use super::escape::units;

/// The longest name in a message of its own.
const NAME: usize = 300;

/// How much of a notice a line of a digest shows.
#[derive(Clone, Copy)]
pub(super) struct Room {
    name: usize,
    /// The longest first line of a note.
    note: usize,
}

/// From the most to the least. With the last one twenty notices fit into every chat's message, whatever people
/// have typed: a notice that is told of has a line.
const ROOMS: [Room; 5] = [
    Room {
        name: 60,
        note: 100,
    },
    Room { name: 60, note: 40 },
    Room { name: 60, note: 0 },
    Room { name: 20, note: 0 },
    Room { name: 8, note: 0 },
];

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

    fn digest_headline(&self, count: usize) -> String {
        self.strong(&format!("{count} focus sessions"))
    }

    /// A line for each notice, each after `mark`, within `budget` with the line ends between them: with as much
    /// of each as there is room for. Of more notices than a digest ever has, the last line says how many are left.
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

    /// How much a line of a digest shows of its notice; None for one of another.
    fn room_of(&self, line: &str, article: &Article<'_>) -> Option<Room> {
        let mut rooms = ROOMS.into_iter();
        rooms.find(|room| self.digest_line(article, *room) == line)
    }

    fn digest_line(&self, article: &Article<'_>, room: Room) -> String {
        let mut line = self.sum_up(article, room.name);
        let first = article.note.lines().next().filter(|_| room.note > 0);
        if let Some(first) = first {
            line.push_str(" – ");
            line.push_str(&self.theirs(first, room.note));
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

/// The lines that fit into `budget`, and how many do not.
fn cut(all: Vec<String>, budget: usize) -> Vec<String> {
    let more = |count: usize| format!("… and {count} more");
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
