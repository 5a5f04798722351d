//! The content of a message, before it has the markup of a chat.

use chrono::{DateTime, Utc};
use event_types::{SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted};
use messages::t;

use super::Notice;
use crate::text::is_shown;

/// A part of a message.
#[derive(Debug, Clone)]
pub(super) enum TextPart<'a> {
    /// The message with this id and its placeholders. Its words have no characters that have a meaning in a chat.
    Ours(&'static str, Vec<Part<'a>>),
    /// A number. It chooses the plural form of the message around it.
    Number(f64),
    /// User input, such as a name or a category.
    Theirs(&'a str),
    /// The user in question, highlighted.
    Who(&'a str),
    /// A time, in the reader's time zone where the chat supports that.
    Time(DateTime<Utc>),
}

/// A placeholder of a message, and what fills it.
pub(super) type Part<'a> = (&'static str, TextPart<'a>);

/// A message before it is formatted for a chat.
#[derive(Debug, Clone)]
pub(super) struct MessageContent<'a> {
    pub(super) mood: AccentColour,
    /// The user and what they did.
    pub(super) headline: TextPart<'a>,
    /// The rest in one sentence, for text-only chats and for lines of a digest.
    pub(super) detail: Option<TextPart<'a>>,
    /// The same as labelled values, for chats with fields.
    pub(super) facts: Vec<(String, TextPart<'a>)>,
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
            headline: TextPart::Ours(
                "chat-test",
                vec![
                    ("user", TextPart::Who(&test.requested_by)),
                    ("project", TextPart::Theirs(&test.project_name)),
                ],
            ),
            detail: None,
            facts: Vec::new(),
            note: "",
        },
    }
}

fn planned(started: &SessionStarted) -> MessageContent<'_> {
    let user = TextPart::Who(&started.user.username);
    let parts = vec![
        ("category", TextPart::Theirs(&started.category)),
        ("minutes", minutes(started.planned_duration)),
        ("project", project(&started.project)),
        ("end", TextPart::Time(started.expected_end_at)),
    ];
    MessageContent {
        mood: AccentColour::Planned,
        headline: TextPart::Ours("chat-started", vec![("user", user)]),
        facts: facts("chat-planned", "chat-ends", &parts),
        detail: Some(TextPart::Ours("chat-started-detail", parts)),
        note: note(&started.planning_note),
    }
}

fn finished(submitted: &SessionSubmitted) -> MessageContent<'_> {
    let headline = match submitted.status.as_str() {
        "partial" => "chat-finished-part",
        _ => "chat-finished",
    };
    let user = TextPart::Who(&submitted.user.username);
    let minutes = if submitted.credited_minutes == submitted.planned_duration {
        minutes(submitted.credited_minutes)
    } else {
        let credited = ("credited", number(submitted.credited_minutes));
        let planned = ("planned", number(submitted.planned_duration));
        TextPart::Ours("chat-credited-minutes", vec![credited, planned])
    };
    let parts = vec![
        ("category", TextPart::Theirs(&submitted.category)),
        ("minutes", minutes),
        ("project", project(&submitted.project)),
        ("points", TextPart::Number(submitted.points_awarded)),
        ("streak", number(submitted.streak)),
    ];
    let streak = vec![("count", number(submitted.streak))];
    let streak = TextPart::Ours("chat-streak-days", streak);
    let mut facts = facts("chat-credited", "chat-points", &parts);
    facts.push((t("chat-streak").into(), streak));
    MessageContent {
        mood: AccentColour::Finished,
        headline: TextPart::Ours(headline, vec![("user", user)]),
        facts,
        detail: Some(TextPart::Ours("chat-finished-detail", parts)),
        note: "",
    }
}

fn left(abandoned: &SessionAbandoned) -> MessageContent<'_> {
    let user = TextPart::Who(&abandoned.user.username);
    let parts = vec![
        ("category", TextPart::Theirs(&abandoned.category)),
        ("minutes", minutes(abandoned.planned_duration)),
        ("project", project(&abandoned.project)),
        ("end", TextPart::Time(abandoned.expected_end_at)),
    ];
    MessageContent {
        mood: AccentColour::Abandoned,
        headline: TextPart::Ours("chat-abandoned", vec![("user", user)]),
        facts: facts("chat-planned", "chat-planned-end", &parts),
        detail: Some(TextPart::Ours("chat-abandoned-detail", parts)),
        note: "",
    }
}

/// Labels category, minutes, project and the part after them.
fn facts<'a>(
    minutes: &'static str,
    last: &'static str,
    parts: &[Part<'a>],
) -> Vec<(String, TextPart<'a>)> {
    let labels = ["chat-category", minutes, "chat-project", last];
    let labelled = labels.into_iter().zip(parts);
    labelled
        .map(|(label, (_, part))| (t(label).into(), part.clone()))
        .collect()
}

fn project(project: &SessionProject) -> TextPart<'_> {
    let name = TextPart::Theirs(&project.name);
    let Some(team) = &project.team_name else {
        return name;
    };
    let parts = vec![("project", name), ("team", TextPart::Theirs(team))];
    TextPart::Ours("chat-project-of-team", parts)
}

fn minutes(count: i32) -> TextPart<'static> {
    TextPart::Ours("chat-minutes", vec![("minutes", number(count))])
}

fn number(count: i32) -> TextPart<'static> {
    TextPart::Number(count.into())
}

/// Returns the trimmed note. It is empty if nothing is visible, because some chats refuse such a text.
fn note(typed: &str) -> &str {
    let is_seen = |character: char| is_shown(character) && !character.is_whitespace();
    typed.find(is_seen).map_or("", |_| typed.trim())
}
