#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod digests;
mod limits;
mod words;

use secrecy::ExposeSecret;
use serde_json::json;

use super::*;
use words::Words;

const PROVIDERS: [&str; 6] = [
    "slack",
    "discord",
    "mattermost",
    "matrix",
    "rocketchat",
    "zulip",
];
const HOOK: &str = "https://chat.example/hooks/secret?topic=focus";

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
