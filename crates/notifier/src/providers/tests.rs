#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod digests;
pub(super) mod limits;
mod user_input;

use event_types::{
    AddressKind, ChatAddress, ChatTestRequested, SessionAbandoned, SessionStarted, SessionSubmitted,
};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use service_kit::guard::Method;

use super::*;
use user_input::UserInput;

const HOOK: &str = "https://chat.example/hooks/secret?topic=focus";

fn destination(provider: ChatProvider) -> ChatDestination {
    let address = match provider.address_kind() {
        AddressKind::Hook => ChatAddress::Hook {
            webhook_url: HOOK.to_owned(),
        },
        AddressKind::Room => ChatAddress::Room {
            homeserver_url: "https://matrix.example/".to_owned(),
            room_id: "!ab/c:matrix.example".to_owned(),
            access_token: "secret".to_owned(),
        },
    };
    ChatDestination { provider, address }
}

fn body(provider: ChatProvider, notifications: &[Notification]) -> Value {
    let call = call(&destination(provider), "#focus", "event-1", notifications);
    call.unwrap().body
}

fn shown(provider: ChatProvider, input: &UserInput) -> Value {
    let messages = input.messages().into_iter();
    messages
        .map(|(name, notifications)| (name.to_owned(), body(provider, &notifications)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn each_chat_shows_the_session_and_the_users_text_as_it_was_typed() {
    for provider in ChatProvider::ALL {
        let name = provider.name();
        insta::assert_json_snapshot!(name, shown(provider, &UserInput::ordinary()));
        let hostile = format!("{name}_hostile");
        insta::assert_json_snapshot!(hostile, shown(provider, &UserInput::hostile()));
    }
}

#[test]
fn a_session_without_a_note_has_no_empty_quote() {
    let mut input = UserInput::ordinary();
    input.note = " \n\u{202e} ".to_owned();
    let planned = [input.planned()];
    assert_eq!(
        body(ChatProvider::Slack, &planned)["blocks"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        body(ChatProvider::Discord, &planned)["embeds"][0].get("description"),
        None
    );
    let text = body(ChatProvider::Zulip, &planned)["text"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn each_chat_is_called_with_its_own_url_method_and_credentials() {
    let notifications = [UserInput::ordinary().planned()];
    let make = |provider| call(&destination(provider), "", "event-1", &notifications).unwrap();
    let hooks = ChatProvider::ALL.into_iter();
    for provider in hooks.filter(|it| !matches!(it, ChatProvider::Discord | ChatProvider::Matrix)) {
        let call = make(provider);
        assert_eq!((call.method, call.url.as_str()), (Method::POST, HOOK));
        assert!(call.bearer.is_none());
        assert_eq!(call.body.get("channel"), None, "none is named");
    }
    assert_eq!(make(ChatProvider::Discord).url, format!("{HOOK}&wait=true"));
    let call = make(ChatProvider::Matrix);
    assert_eq!(call.method, Method::PUT);
    assert_eq!(
        call.url,
        "https://matrix.example/_matrix/client/v3/rooms/%21ab%2Fc%3Amatrix%2Eexample/send/m.room.message/event%2D1"
    );
    assert_eq!(call.bearer.unwrap().expose_secret(), "secret");
}

#[test]
fn a_channel_is_never_a_single_user() {
    let planned = [UserInput::ordinary().planned()];
    let to = |channel| {
        call(
            &destination(ChatProvider::Mattermost),
            channel,
            "event-1",
            &planned,
        )
        .unwrap()
    };
    assert_eq!(to(" #focus ").body["channel"], "focus");
    assert_eq!(to("@ceo").body.get("channel"), None);
    assert_eq!(to("#@ceo").body.get("channel"), None);
}

#[test]
fn a_mismatched_address_or_an_empty_message_makes_no_call() {
    let notifications = [UserInput::ordinary().planned()];
    for provider in ChatProvider::ALL {
        assert!(call(&destination(provider), "", "event-1", &[]).is_none());
        let other = match provider.address_kind() {
            AddressKind::Hook => ChatProvider::Matrix,
            AddressKind::Room => ChatProvider::Slack,
        };
        let mut elsewhere = destination(other);
        elsewhere.provider = provider;
        assert!(call(&elsewhere, "", "event-1", &notifications).is_none());
    }
}
