//! What is said of a session, in no chat's own words yet.

use chrono::{DateTime, Utc};
use event_types::{SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted};

use super::Notice;
use crate::text::is_shown;

/// A part of a sentence.
#[derive(Debug, Clone)]
pub(super) enum Piece<'a> {
    /// Our own words; nothing in them means anything to a chat.
    Ours(String),
    /// A name or a word that people chose.
    Theirs(&'a str),
    /// Who it is about, set off from the rest.
    Who(&'a str),
    /// A moment, in the reader's terms where the chat can.
    Time(DateTime<Utc>),
}

/// Parts that are shown one after the other.
pub(super) type Sentence<'a> = Vec<Piece<'a>>;

/// A message before it is put into a chat's shape.
#[derive(Debug, Clone)]
pub(super) struct Article<'a> {
    pub(super) mood: Mood,
    /// Who did what.
    pub(super) headline: Sentence<'a>,
    /// The rest in one sentence, for chats that show text alone and for a line of a digest; may be empty.
    pub(super) detail: Sentence<'a>,
    /// The same, a word and what it stands for at a time; for chats that have a place for it.
    pub(super) facts: Vec<(&'static str, Sentence<'a>)>,
    /// What the user wrote; may be empty.
    pub(super) note: &'a str,
}

/// The colour of a message, where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Planned,
    Finished,
    Abandoned,
    /// Neither: a test, or several at once.
    Neutral,
}

impl Mood {
    /// As 24 bits of red, green and blue.
    pub(super) fn colour(self) -> u32 {
        match self {
            Self::Planned => 0x003b_82f6,
            Self::Finished => 0x0022_c55e,
            Self::Abandoned => 0x009c_a3af,
            Self::Neutral => 0x0064_748b,
        }
    }
}

pub(super) fn article(notice: &Notice) -> Article<'_> {
    match notice {
        Notice::Planned(started) => planned(started),
        Notice::Finished(submitted) => finished(submitted),
        Notice::Abandoned(abandoned) => left(abandoned),
        Notice::Test(test) => Article {
            mood: Mood::Neutral,
            headline: vec![
                ours("This is a test by "),
                Piece::Who(&test.requested_by),
                ours(": focus sessions on "),
                Piece::Theirs(&test.project_name),
                ours(" will be announced here."),
            ],
            detail: Vec::new(),
            facts: Vec::new(),
            note: "",
        },
    }
}

fn planned(started: &SessionStarted) -> Article<'_> {
    let minutes = format!("{} min", started.planned_duration);
    let (category, project) = (Piece::Theirs(&started.category), project(&started.project));
    let until = Piece::Time(started.expected_end_at);
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.extend([ours(", until "), until.clone()]);
    Article {
        mood: Mood::Planned,
        headline: vec![
            Piece::Who(&started.user.username),
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

fn finished(submitted: &SessionSubmitted) -> Article<'_> {
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
    let (category, project) = (
        Piece::Theirs(&submitted.category),
        project(&submitted.project),
    );
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.push(ours(&format!(", {points} points, a streak of {days}")));
    Article {
        mood: Mood::Finished,
        headline: vec![Piece::Who(&submitted.user.username), ours(what)],
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

fn left(abandoned: &SessionAbandoned) -> Article<'_> {
    let minutes = format!("{} min", abandoned.planned_duration);
    let (category, project) = (
        Piece::Theirs(&abandoned.category),
        project(&abandoned.project),
    );
    let ended = Piece::Time(abandoned.expected_end_at);
    let mut detail = vec![category.clone(), ours(", "), ours(&minutes), ours(" on ")];
    detail.extend(project.clone());
    detail.extend([ours(", planned until "), ended.clone()]);
    Article {
        mood: Mood::Abandoned,
        headline: vec![
            Piece::Who(&abandoned.user.username),
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
    let name = Piece::Theirs(&project.name);
    match &project.team_name {
        Some(team) => vec![name, ours(" ("), Piece::Theirs(team), ours(")")],
        None => vec![name],
    }
}

fn ours(words: &str) -> Piece<'static> {
    Piece::Ours(words.to_owned())
}

/// What was noted; nothing if none of it can be seen, which a chat may refuse as an empty text.
fn note(typed: &str) -> &str {
    let is_seen = |character: char| is_shown(character) && !character.is_whitespace();
    typed.find(is_seen).map_or("", |_| typed.trim())
}
