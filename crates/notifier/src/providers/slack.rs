use chrono::{DateTime, Utc};
use event_types::{SessionProject, SessionStarted};
use serde_json::{Value, json};

use super::text::{escape, escape_line, quote};

/// Slack's limit for the text of a section is 3,000 characters, for a field 2,000.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const FIELD_LIMIT: usize = 300;

/// A message for an incoming hook. Slack shows the blocks and uses `text` where there is no room for
/// them; chats that only borrow Slack's shape show `text`.
pub(super) fn planning_message(started: &SessionStarted) -> Value {
    let user = escape_line(&started.user.username, FIELD_LIMIT);
    let category = escape_line(&started.category, FIELD_LIMIT);
    let project = project_name(&started.project);
    let minutes = started.planned_duration;
    let until = time_token(started.expected_end_at);
    let note = escape(started.planning_note.trim(), NOTE_LIMIT);
    let headline = format!("*{user}* started a focus session");

    let field =
        |name: &str, value: &str| json!({ "type": "mrkdwn", "text": format!("*{name}*\n{value}") });
    let mut blocks = vec![
        json!({ "type": "section", "text": { "type": "mrkdwn", "text": headline } }),
        json!({ "type": "section", "fields": [
            field("Category", &category),
            field("Planned", &format!("{minutes} min")),
            field("Project", &project),
            field("Until", &until),
        ] }),
    ];
    let mut text = format!("{headline}: {category}, {minutes} min on {project}, until {until}");
    if !note.is_empty() {
        let quoted = quote(&note, NOTE_LINES);
        blocks.push(json!({ "type": "section", "text": { "type": "mrkdwn", "text": quoted } }));
        text = format!("{text}\n{quoted}");
    }
    json!({ "text": text, "blocks": blocks, "unfurl_links": false, "unfurl_media": false })
}

fn project_name(project: &SessionProject) -> String {
    let name = escape_line(&project.name, FIELD_LIMIT);
    match &project.team_name {
        Some(team) => format!("{name} ({})", escape_line(team, FIELD_LIMIT)),
        None => name,
    }
}

/// Shown in each reader's own zone; the UTC text stands in where the token is not understood.
fn time_token(at: DateTime<Utc>) -> String {
    format!(
        "<!date^{}^{{time}}|{}>",
        at.timestamp(),
        at.format("%H:%M UTC")
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::TimeDelta;
    use event_types::SessionUser;
    use uuid::Uuid;

    use super::*;

    fn started(note: &str) -> SessionStarted {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        SessionStarted {
            session_id: Uuid::nil(),
            user: SessionUser {
                id: "7".parse().unwrap(),
                username: "ada".to_owned(),
            },
            project: SessionProject {
                id: "team_3".to_owned(),
                name: "Apollo".to_owned(),
                kind: "team".to_owned(),
                team_id: "5".parse().ok(),
                team_name: Some("Core".to_owned()),
            },
            category: "coding".to_owned(),
            planned_duration: 50,
            planning_note: note.to_owned(),
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
        }
    }

    #[test]
    fn a_planning_message_says_who_what_how_long_and_until_when() {
        insta::assert_json_snapshot!(planning_message(&started("Write the parser")));
    }

    #[test]
    fn a_session_without_a_note_has_no_empty_quotation() {
        insta::assert_json_snapshot!(planning_message(&started(" \n ")));
    }

    #[test]
    fn what_people_type_cannot_call_link_or_imitate() {
        let mut hostile = started(
            "<!channel> <!here|x> @everyone <@U024BE7LH> <https://evil.example|your bank>\n> *ada* finished\u{202e}\r\n& &lt;!channel&gt; ```",
        );
        hostile.project.name = "A<b>\n*bob* started a focus session @here".to_owned();
        hostile.project.team_name = Some("</team>".to_owned());
        hostile.category = "<!subteam^S1>".to_owned();
        insta::assert_json_snapshot!(planning_message(&hostile));
    }

    #[test]
    fn every_text_stays_within_what_slack_takes() {
        let mut long = started(&"&<>@a\n".repeat(2_000));
        long.category = "&".repeat(64);
        long.project.name = "<".repeat(5_000);
        long.project.team_name = Some("😀".repeat(5_000));
        let message = planning_message(&long);
        let length = |value: &Value| value.as_str().unwrap().chars().count();
        assert!(length(&message["text"]) <= 4_000);
        for block in message["blocks"].as_array().unwrap() {
            if let Some(text) = block.get("text") {
                assert!(length(&text["text"]) <= 3_000);
            }
            for field in block
                .get("fields")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                assert!(length(&field["text"]) <= 2_000);
            }
        }
    }
}
