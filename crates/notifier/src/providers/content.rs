//! The content of a message, before it has the markup of a chat.

use chrono::{DateTime, Utc};
use event_types::{SessionAbandoned, SessionProject, SessionStarted, SessionSubmitted};
use messages::t;

use super::Notification;
use crate::text::is_shown;

/// A part of a message.
#[derive(Debug, Clone)]
pub(super) enum TextPart<'a> {
    /// The message with this id and its placeholders. Its words have no characters that have a meaning in a chat.
    Message(&'static str, Vec<Placeholder<'a>>),
    /// A number. It chooses the plural form of the message around it.
    Number(f64),
    /// User input, such as a name or a category.
    UserInput(&'a str),
    /// The user in question, highlighted.
    User(&'a str),
    /// A time, in the reader's time zone where the chat supports that.
    Time(DateTime<Utc>),
}

/// A placeholder of a message, and what fills it.
pub(super) type Placeholder<'a> = (&'static str, TextPart<'a>);

/// A message before it is formatted for a chat.
#[derive(Debug, Clone)]
pub(super) struct MessageContent<'a> {
    pub(super) colour: AccentColour,
    /// The user and what they did.
    pub(super) headline: TextPart<'a>,
    /// The rest in one sentence, for text-only chats and for lines of a digest.
    pub(super) detail: Option<TextPart<'a>>,
    /// The same as labelled values, for chats with fields.
    pub(super) fields: Vec<(String, TextPart<'a>)>,
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
    pub(super) fn rgb(self) -> u32 {
        match self {
            Self::Planned => 0x003b_82f6,
            Self::Finished => 0x0022_c55e,
            Self::Abandoned => 0x009c_a3af,
            Self::Neutral => 0x0064_748b,
        }
    }
}

pub(super) fn compose(notification: &Notification) -> MessageContent<'_> {
    match notification {
        Notification::Planned(started) => planned(started),
        Notification::Finished(submitted) => finished(submitted),
        Notification::Abandoned(event) => abandoned(event),
        Notification::Test(test) => MessageContent {
            colour: AccentColour::Neutral,
            headline: TextPart::Message(
                "chat-test",
                vec![
                    ("user", TextPart::User(&test.requested_by)),
                    ("project", TextPart::UserInput(&test.project_name)),
                ],
            ),
            detail: None,
            fields: Vec::new(),
            note: "",
        },
    }
}

fn planned(started: &SessionStarted) -> MessageContent<'_> {
    let user = TextPart::User(&started.user.username);
    let parts = vec![
        ("category", TextPart::UserInput(&started.category)),
        ("minutes", minutes(started.planned_duration)),
        ("project", project(&started.project)),
        ("end", TextPart::Time(started.expected_end_at)),
    ];
    MessageContent {
        colour: AccentColour::Planned,
        headline: TextPart::Message("chat-started", vec![("user", user)]),
        fields: fields("chat-planned", ("end", "chat-ends"), &parts),
        detail: Some(TextPart::Message("chat-started-detail", parts)),
        note: note(&started.planning_note),
    }
}

fn finished(submitted: &SessionSubmitted) -> MessageContent<'_> {
    let headline = match submitted.status.as_str() {
        "partial" => "chat-finished-part",
        _ => "chat-finished",
    };
    let user = TextPart::User(&submitted.user.username);
    let minutes = if submitted.credited_minutes == submitted.planned_duration {
        minutes(submitted.credited_minutes)
    } else {
        let credited = ("credited", integer(submitted.credited_minutes));
        let planned = ("planned", integer(submitted.planned_duration));
        TextPart::Message("chat-credited-minutes", vec![credited, planned])
    };
    let parts = vec![
        ("category", TextPart::UserInput(&submitted.category)),
        ("minutes", minutes),
        ("project", project(&submitted.project)),
        ("points", TextPart::Number(submitted.points_awarded)),
        ("streak", integer(submitted.streak)),
    ];
    let streak = vec![("count", integer(submitted.streak))];
    let streak = TextPart::Message("chat-streak-days", streak);
    let mut fields = fields("chat-credited", ("points", "chat-points"), &parts);
    fields.push((t("chat-streak").into(), streak));
    MessageContent {
        colour: AccentColour::Finished,
        headline: TextPart::Message(headline, vec![("user", user)]),
        fields,
        detail: Some(TextPart::Message("chat-finished-detail", parts)),
        note: "",
    }
}

fn abandoned(abandoned: &SessionAbandoned) -> MessageContent<'_> {
    let user = TextPart::User(&abandoned.user.username);
    let parts = vec![
        ("category", TextPart::UserInput(&abandoned.category)),
        ("minutes", minutes(abandoned.planned_duration)),
        ("project", project(&abandoned.project)),
        ("end", TextPart::Time(abandoned.expected_end_at)),
    ];
    MessageContent {
        colour: AccentColour::Abandoned,
        headline: TextPart::Message("chat-abandoned", vec![("user", user)]),
        fields: fields("chat-planned", ("end", "chat-planned-end"), &parts),
        detail: Some(TextPart::Message("chat-abandoned-detail", parts)),
        note: "",
    }
}

/// Labels the category, the minutes, the project and one more placeholder, each by its name.
fn fields<'a>(
    minutes: &'static str,
    last: (&str, &'static str),
    parts: &[Placeholder<'a>],
) -> Vec<(String, TextPart<'a>)> {
    let (category, project) = (("category", "chat-category"), ("project", "chat-project"));
    let labels = [category, ("minutes", minutes), project, last].into_iter();
    let field = |(name, label): (&str, &'static str)| {
        let (_, part) = parts.iter().find(|(it, _)| *it == name)?;
        Some((t(label).into(), part.clone()))
    };
    labels.filter_map(field).collect()
}

fn project(project: &SessionProject) -> TextPart<'_> {
    let name = TextPart::UserInput(&project.name);
    let Some(team) = &project.team_name else {
        return name;
    };
    let parts = vec![("project", name), ("team", TextPart::UserInput(team))];
    TextPart::Message("chat-project-of-team", parts)
}

fn minutes(count: i32) -> TextPart<'static> {
    TextPart::Message("chat-minutes", vec![("minutes", integer(count))])
}

fn integer(count: i32) -> TextPart<'static> {
    TextPart::Number(count.into())
}

/// Returns the trimmed note. It is empty if nothing is visible, because some chats refuse such a text.
fn note(text: &str) -> &str {
    let is_visible = |character: char| is_shown(character) && !character.is_whitespace();
    text.find(is_visible).map_or("", |_| text.trim())
}
