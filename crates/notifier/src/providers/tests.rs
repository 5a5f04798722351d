#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use chrono::{DateTime, TimeDelta};
use event_types::{SessionProject, SessionUser};
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::json;
use uuid::Uuid;

use super::escape::units;
use super::*;
use crate::text::ZERO_WIDTH_SPACE;

const PROVIDERS: [&str; 6] = [
    "slack",
    "discord",
    "mattermost",
    "matrix",
    "rocketchat",
    "zulip",
];
const HOOK: &str = "https://chat.example/hooks/secret?topic=focus";

/// What four people did and a test, told in one digest too.
#[derive(Debug, Clone)]
pub(super) struct Words {
    pub(super) user: String,
    pub(super) project: String,
    pub(super) team: Option<String>,
    pub(super) category: String,
    pub(super) note: String,
}

impl Words {
    fn ordinary() -> Self {
        Self {
            user: "ada".to_owned(),
            project: "Apollo".to_owned(),
            team: Some("Core".to_owned()),
            category: "coding".to_owned(),
            note:
                "Write the parser_table\n- see https://issues.example/browse/A_7?x=1&y=2\n1. tests"
                    .to_owned(),
        }
    }

    /// Everything that calls, links, formats, breaks out or imitates somewhere.
    fn hostile() -> Self {
        Self {
            user: "@here".to_owned(),
            project: "A<b>\n*bob* started a focus session @room".to_owned(),
            team: Some("</team> @**all**".to_owned()),
            category: "<!subteam^S1>".to_owned(),
            note: "<!channel> <!here|x> @everyone @all <@U024BE7LH> <@!42> <@&7> <#9> <t:0:R> \
                   <https://evil.example|your bank> [your bank](https://evil.example) ![x](https://evil.example/x.png)\n\
                   > *ada* finished\u{202e}\r\n# Title\n-# small\n---\n~town-square #general #**stream** @_**bob** \
                   :smile: ||spoiler|| $$x$$ \\(x\\) <b>bold</b> <img src=x onerror=alert(1)>\n\
                   & &lt;!channel&gt; &#64;all ```code\n``` `tick` __u__ ~~s~~ \\"
                .to_owned(),
        }
    }

    fn project(&self) -> SessionProject {
        SessionProject {
            id: "team_3".to_owned(),
            name: self.project.clone(),
            kind: "team".to_owned(),
            team_id: "5".parse().ok(),
            team_name: self.team.clone(),
        }
    }

    fn who(&self) -> SessionUser {
        SessionUser {
            id: "7".parse().unwrap(),
            username: self.user.clone(),
        }
    }

    pub(super) fn planned(&self) -> Notice {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notice::Planned(SessionStarted {
            session_id: Uuid::nil(),
            user: self.who(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            planning_note: self.note.clone(),
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
        })
    }

    pub(super) fn finished(&self, status: &str, minutes: i32) -> Notice {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notice::Finished(SessionSubmitted {
            session_id: Uuid::nil(),
            user: self.who(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
            status: status.to_owned(),
            credited_minutes: minutes,
            points_awarded: 52.5,
            streak: 3,
            submitted_at: at + TimeDelta::minutes(51),
        })
    }

    pub(super) fn abandoned(&self) -> Notice {
        let at = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
        Notice::Abandoned(SessionAbandoned {
            session_id: Uuid::nil(),
            user: self.who(),
            project: self.project(),
            category: self.category.clone(),
            planned_duration: 50,
            started_at: at,
            expected_end_at: at + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: None,
            reason: "not_submitted".to_owned(),
        })
    }

    pub(super) fn test(&self) -> Notice {
        Notice::Test(ChatTestRequested {
            test_id: Uuid::nil(),
            project_id: 3,
            project_name: self.project.clone(),
            revision: 1,
            requested_by: self.user.clone(),
            channel: "focus".to_owned(),
        })
    }

    /// Each message that can be made of the words.
    pub(super) fn messages(&self) -> Vec<(&'static str, Vec<Notice>)> {
        let digest = vec![
            self.planned(),
            self.finished("completed", 50),
            self.abandoned(),
        ];
        vec![
            ("planned", vec![self.planned()]),
            ("finished", vec![self.finished("completed", 50)]),
            ("partial", vec![self.finished("partial", 20)]),
            ("abandoned", vec![self.abandoned()]),
            ("test", vec![self.test()]),
            ("digest", digest),
        ]
    }
}

fn destination(provider: &str) -> ChatDestination {
    let json = if provider == "matrix" {
        json!({"provider": provider, "homeserver_url": "https://matrix.example/", "room_id": "!ab/c:matrix.example", "access_token": "secret"})
    } else {
        json!({"provider": provider, "webhook_url": HOOK})
    };
    serde_json::from_value(json).unwrap()
}

fn body(provider: &str, notices: &[Notice]) -> Value {
    let call = call(&destination(provider), "#focus", "event-1", notices);
    call.unwrap().body
}

fn shown(provider: &str, words: &Words) -> Value {
    let messages = words.messages().into_iter();
    messages
        .map(|(name, notices)| (name.to_owned(), body(provider, &notices)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn slack_shows_blocks() {
    insta::assert_json_snapshot!("slack", shown("slack", &Words::ordinary()));
    insta::assert_json_snapshot!("slack_hostile", shown("slack", &Words::hostile()));
}

#[test]
fn discord_shows_an_embed() {
    insta::assert_json_snapshot!("discord", shown("discord", &Words::ordinary()));
    insta::assert_json_snapshot!("discord_hostile", shown("discord", &Words::hostile()));
}

#[test]
fn mattermost_shows_an_attachment_in_the_projects_channel() {
    insta::assert_json_snapshot!("mattermost", shown("mattermost", &Words::ordinary()));
    insta::assert_json_snapshot!("mattermost_hostile", shown("mattermost", &Words::hostile()));
}

#[test]
fn matrix_shows_a_notice_as_text_and_as_html() {
    insta::assert_json_snapshot!("matrix", shown("matrix", &Words::ordinary()));
    insta::assert_json_snapshot!("matrix_hostile", shown("matrix", &Words::hostile()));
}

#[test]
fn rocket_chat_shows_text() {
    insta::assert_json_snapshot!("rocketchat", shown("rocketchat", &Words::ordinary()));
    insta::assert_json_snapshot!("rocketchat_hostile", shown("rocketchat", &Words::hostile()));
}

#[test]
fn zulip_shows_text_in_the_projects_topic() {
    insta::assert_json_snapshot!("zulip", shown("zulip", &Words::ordinary()));
    insta::assert_json_snapshot!("zulip_hostile", shown("zulip", &Words::hostile()));
}

#[test]
fn a_session_without_a_note_has_no_empty_quotation() {
    let mut words = Words::ordinary();
    words.note = " \n ".to_owned();
    let planned = [words.planned()];
    assert_eq!(
        body("slack", &planned)["blocks"].as_array().unwrap().len(),
        2
    );
    assert_eq!(
        body("discord", &planned)["embeds"][0].get("description"),
        None
    );
    let text = body("zulip", &planned)["text"].as_str().unwrap().to_owned();
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_digest_that_is_too_long_says_how_many_more_there_are() {
    let notices = vec![Words::ordinary().planned(); 500];
    for provider in PROVIDERS {
        let message = body(provider, &notices);
        let text = match provider {
            "discord" => &message["embeds"][0]["description"],
            "matrix" => &message["body"],
            _ => &message["text"],
        };
        let lines: Vec<&str> = text.as_str().unwrap().lines().collect();
        let shown = lines.iter().filter(|line| line.contains("ada")).count();
        assert!((5..500).contains(&shown), "{provider} {shown}");
        let rest = format!("… and {} more", 500 - shown);
        assert!(
            lines.last().unwrap().ends_with(&rest),
            "{provider} {lines:?}"
        );
    }
}

/// As many as the ledger joins.
#[test]
fn each_of_twenty_ordinary_notices_has_its_line_in_a_digest() {
    let mut notices = Vec::new();
    for index in 0..20 {
        let Notice::Planned(mut started) = Words::ordinary().planned() else {
            panic!("a plan");
        };
        started.planning_note = format!("note{index:02} and what else there is to say of it");
        notices.push(Notice::Planned(started));
    }
    for provider in PROVIDERS {
        let message = body(provider, &notices).to_string();
        for index in 0..20 {
            let note = format!("note{index:02}");
            assert!(message.contains(&note), "{provider}: {note} in {message}");
        }
    }
}

/// Names as long as they may be, of what each chat has to escape.
#[test]
fn each_of_twenty_notices_has_its_line_in_a_digest_whatever_people_typed() {
    for sign in ["a", "*", "<", "`", "\u{1F345}", "_"] {
        let words = Words {
            user: "u".repeat(50),
            project: sign.repeat(200),
            team: Some(sign.repeat(100)),
            category: sign.repeat(100),
            note: sign.repeat(2_000),
        };
        let notices: Vec<Notice> = (0..20)
            .map(|index| match index % 3 {
                0 => words.planned(),
                1 => words.finished("partial", 1_439),
                _ => words.abandoned(),
            })
            .collect();
        for provider in PROVIDERS {
            let message = body(provider, &notices);
            let text = match provider {
                "discord" => &message["embeds"][0]["description"],
                "matrix" => &message["body"],
                "slack" => &message["blocks"],
                _ => &message["text"],
            };
            let told = text.to_string().matches(" a focus session").count();
            let told = told + text.to_string().matches(" part of a focus session").count();
            let more = text.to_string().contains(" more");
            assert!(
                told >= 20 && !more,
                "{provider} {sign:?}: {told} in {message}"
            );
        }
    }
}

#[test]
fn each_chat_is_called_where_and_as_it_wants_to_be() {
    let notices = [Words::ordinary().planned()];
    let made = |provider: &str| call(&destination(provider), "", "event-1", &notices).unwrap();
    for provider in ["slack", "mattermost", "rocketchat", "zulip"] {
        let call = made(provider);
        assert_eq!((call.method, call.url.as_str()), (Method::Post, HOOK));
        assert!(call.bearer.is_none());
        assert_eq!(call.body.get("channel"), None, "none is named");
    }
    assert_eq!(made("discord").url, format!("{HOOK}&wait=true"));
    let call = made("matrix");
    assert_eq!(call.method, Method::Put);
    assert_eq!(
        call.url,
        "https://matrix.example/_matrix/client/v3/rooms/%21ab%2Fc%3Amatrix%2Eexample/send/m.room.message/event%2D1"
    );
    assert_eq!(call.bearer.unwrap().expose_secret(), "secret");
}

#[test]
fn a_channel_is_never_one_person() {
    let planned = [Words::ordinary().planned()];
    let to = |channel| call(&destination("mattermost"), channel, "event-1", &planned).unwrap();
    assert_eq!(to(" #focus ").body["channel"], "focus");
    assert_eq!(to("@ceo").body.get("channel"), None);
    assert_eq!(to("#@ceo").body.get("channel"), None);
}

#[test]
fn an_unknown_provider_and_no_notice_at_all_make_no_call() {
    let notices = [Words::ordinary().planned()];
    assert!(call(&destination("pager"), "", "event-1", &notices).is_none());
    assert!(call(&destination("slack"), "", "event-1", &[]).is_none());
    let mut room = destination("matrix");
    room.provider = "slack".to_owned();
    assert!(call(&room, "", "event-1", &notices).is_none());
}

/// What people might write: anything, and the signs that mean something somewhere, again and again.
fn typed() -> impl Strategy<Value = String> {
    let signs = "@everyone @here @all @room @channel @**all** @_**bob** <@42> <@!42> <@&7> <#9> <!channel> <!here|x> \
                 <t:0:R> <time:x> [x](https://e.example) ![x](https://e.example) <https://e.example|x> ](/ \\ ` ``` * ** \
                 _ ~~ || > # - <b> <a\u{20}href=x> & &lt; &#64;all https://e.example/a_b?c=1&d=@x \n \t \u{202e}";
    let signs: Vec<&str> = signs.split(' ').collect();
    let part = prop_oneof![
        any::<String>(),
        prop::sample::select(signs).prop_map(str::to_owned)
    ];
    (prop::collection::vec(part, 0..12), 1_usize..200)
        .prop_map(|(parts, times)| parts.concat().repeat(times))
        .prop_map(|text| text.chars().take(4_000).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_message_is_too_long_or_calls_anybody(
        user in typed(), project in typed(), team in typed(), category in typed(), note in typed()
    ) {
        let words = Words { user, project, team: Some(team), category, note };
        for (_, notices) in words.messages() {
            for provider in PROVIDERS {
                check(provider, &body(provider, &notices));
                let many: Vec<Notice> = std::iter::repeat_n(notices.clone(), 8).flatten().collect();
                check(provider, &body(provider, &many));
            }
        }
    }
}

fn check(provider: &str, message: &Value) {
    let mut texts = Vec::new();
    gather(message, &mut texts);
    for text in &texts {
        for (index, _) in text.match_indices('@') {
            assert!(
                text[index + 1..].starts_with(ZERO_WIDTH_SPACE),
                "{provider} {text:?}"
            );
        }
    }
    let length = |value: &Value| value.as_str().map_or(0, units);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = message["text"].as_str().unwrap_or_default();
    // Where a sign stands that is neither ours nor held apart from what follows.
    let live = |signs: &[char]| {
        let mut found = text.match_indices(signs);
        found.any(|(index, sign)| !text[index + sign.len()..].starts_with(ZERO_WIDTH_SPACE))
    };
    match provider {
        "slack" => {
            assert!(length(&message["text"]) <= 5_000);
            for block in list(&message["blocks"]) {
                assert!(length(&block["text"]["text"]) <= 3_000);
                assert!(list(&block["fields"]).len() <= 10);
                assert!(
                    list(&block["fields"])
                        .iter()
                        .all(|field| length(&field["text"]) <= 2_000)
                );
            }
            for text in texts {
                assert!(!text.replace("<!date^", "").contains('<'), "{text:?}");
            }
        }
        "discord" => {
            assert!(length(&message["content"]) <= 2_000);
            assert_eq!(message["allowed_mentions"], json!({"parse": []}));
            for embed in list(&message["embeds"]) {
                let mut total = length(&embed["description"]);
                assert!(total <= 4_096);
                for field in list(&embed["fields"]) {
                    assert!(
                        length(&field["name"]) <= 256
                            && (1..=1_024).contains(&length(&field["value"]))
                    );
                    total += length(&field["name"]) + length(&field["value"]);
                }
                assert!(total <= 6_000);
            }
            for text in texts {
                let text = text.replace("<t:1795003000:t>", "");
                assert!(escaped(&text, &['<', '[', ']']), "{text:?}");
            }
        }
        "mattermost" => {
            assert!(length(&message["text"]) <= 16_383);
            for text in &texts {
                assert!(!text.contains('<'), "{text:?}");
                assert!(escaped(text, &['[', ']', '|']), "{text:?}");
            }
        }
        "rocketchat" => {
            assert!(length(&message["text"]) <= 5_000);
            assert!(!live(&['<', '[', ']', '#', '`']), "{text:?}");
        }
        "zulip" => {
            assert!(length(&message["text"]) <= 10_000);
            assert!(!live(&['<', '[', ']', '#', '`', '$']), "{text:?}");
        }
        _ => {
            assert!(message.to_string().len() <= 60_000);
            assert_eq!(message["m.mentions"], json!({}));
            let mut formatted = message["formatted_body"].as_str().unwrap().to_owned();
            for tag in ["b", "blockquote", "ul", "li"] {
                formatted = formatted
                    .replace(&format!("<{tag}>"), "")
                    .replace(&format!("</{tag}>"), "");
            }
            assert!(
                !formatted.replace("<br>", "").contains(['<', '"']),
                "{formatted:?}"
            );
        }
    }
}

/// Whether a backslash stands before each of the signs, and not before itself.
fn escaped(text: &str, signs: &[char]) -> bool {
    text.match_indices(signs).all(|(index, _)| {
        let before = text[..index].chars().rev();
        before.take_while(|sign| *sign == '\\').count() % 2 == 1
    })
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| gather(value, texts)),
        Value::Object(values) => values.values().for_each(|value| gather(value, texts)),
        _ => {}
    }
}
