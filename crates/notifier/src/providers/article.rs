//! The content of a message, before it has the markup of a chat.

use chrono::{DateTime, Utc};
use event_types::{SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted};

use super::Notice;
use crate::text::is_shown;

/// A part of a sentence.
#[derive(Debug, Clone)]
pub(super) enum TextPart<'a> {
    /// Text of the notifier, without characters that have a meaning in a chat.
    Ours(String),
    /// User input, such as a name or a category.
    Theirs(&'a str),
    /// The user in question, highlighted.
    Who(&'a str),
    /// A time, in the reader's time zone where the chat supports that.
    Time(DateTime<Utc>),
}

/// Parts that are shown one after the other.
pub(super) type Sentence<'a> = Vec<TextPart<'a>>;

/// A message before it is formatted for a chat.
#[derive(Debug, Clone)]
pub(super) struct MessageContent<'a> {
    pub(super) mood: AccentColour,
    /// The user and what they did.
    pub(super) headline: Sentence<'a>,
    /// The rest in one sentence, for text-only chats and for lines of a digest; may be empty.
    pub(super) detail: Sentence<'a>,
    /// The same as labelled values, for chats with fields.
    pub(super) facts: Vec<(&'static str, Sentence<'a>)>,
    /// The user's note; may be empty.
    pub(super) note: &'a str,
}

/// The colour of a message, in chats with colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccentColour {
    Planned,
    Finished,
    Abandoned,
    /// A test, or several notifications at once.
    Neutral,
}

impl AccentColour {
    /// Returns the colour as 24 bits of red, green and blue.
    pub(super) fn colour(self) -> u32 {
        match self {
            Self::Planned => 0x003b_82f6,
            Self::Finished => 0x0022_c55e,
            Self::Abandoned => 0x009c_a3af,
            Self::Neutral => 0x0064_748b,
        }
    }
}

pub(super) fn article(notice: &Notice) -> MessageContent<'_> {
    match notice {
        Notice::Planned(started) => planned(started),
        Notice::Finished(submitted) => finished(submitted),
        Notice::Abandoned(abandoned) => left(abandoned),
        Notice::Test(test) => MessageContent {
            mood: AccentColour::Neutral,
            headline: vec![
                ours("This is a test by "),
                TextPart::Who(&test.requested_by),
                ours(": focus sessions on "),
                TextPart::Theirs(&test.project_name),
                ours(" will be announced here."),
            ],
            detail: Vec::new(),
            facts: Vec::new(),
            note: "",
        },
    }
}

fn planned(started: &SessionStarted) -> MessageContent<'_> {
    let minutes = format!("{} min", started.planned_duration);
    let category = TextPart::Theirs(&started.category);
    let project = project(&started.project);
    let until = TextPart::Time(started.expected_end_at);
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.extend([ours(", until "), until.clone()]);
    MessageContent {
        mood: AccentColour::Planned,
        headline: vec![
            TextPart::Who(&started.user.username),
            ours(" started a focus session"),
        ],
        detail,
        facts: vec![
            ("Category", vec![category]),
            ("Planned", vec![ours(&minutes)]),
            ("Project", project),
            ("Until", vec![until]),
        ],
        note: note(&started.planning_note),
    }
}

fn finished(submitted: &SessionSubmitted) -> MessageContent<'_> {
    let what = match submitted.status.as_str() {
        "partial" => " finished part of a focus session",
        _ => " finished a focus session",
    };
    let minutes = if submitted.credited_minutes == submitted.planned_duration {
        format!("{} min", submitted.credited_minutes)
    } else {
        format!(
            "{} of {} min",
            submitted.credited_minutes, submitted.planned_duration
        )
    };
    let points = submitted.points_awarded;
    let days = match submitted.streak {
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    let category = TextPart::Theirs(&submitted.category);
    let project = project(&submitted.project);
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.push(ours(&format!(", {points} points, a streak of {days}")));
    MessageContent {
        mood: AccentColour::Finished,
        headline: vec![TextPart::Who(&submitted.user.username), ours(what)],
        detail,
        facts: vec![
            ("Category", vec![category]),
            ("Credited", vec![ours(&minutes)]),
            ("Project", project),
            ("Points", vec![ours(&points.to_string())]),
            ("Streak", vec![ours(&days)]),
        ],
        note: "",
    }
}

fn left(abandoned: &SessionAbandoned) -> MessageContent<'_> {
    let minutes = format!("{} min", abandoned.planned_duration);
    let category = TextPart::Theirs(&abandoned.category);
    let project = project(&abandoned.project);
    let ended = TextPart::Time(abandoned.expected_end_at);
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.extend([ours(", planned until "), ended.clone()]);
    MessageContent {
        mood: AccentColour::Abandoned,
        headline: vec![
            TextPart::Who(&abandoned.user.username),
            ours(" never submitted a focus session"),
        ],
        detail,
        facts: vec![
            ("Category", vec![category]),
            ("Planned", vec![ours(&minutes)]),
            ("Project", project),
            ("Until", vec![ended]),
        ],
        note: "",
    }
}

fn project(project: &SessionProject) -> Sentence<'_> {
    let name = TextPart::Theirs(&project.name);
    match &project.team_name {
        Some(team) => vec![name, ours(" ("), TextPart::Theirs(team), ours(")")],
        None => vec![name],
    }
}

fn ours(words: &str) -> TextPart<'static> {
    TextPart::Ours(words.to_owned())
}

/// Returns the trimmed note. It is empty if nothing is visible, because some chats refuse such a text.
fn note(typed: &str) -> &str {
    let is_seen = |character: char| is_shown(character) && !character.is_whitespace();
    typed.find(is_seen).map_or("", |_| typed.trim())
}
