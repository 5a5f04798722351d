use event_types::{AddressKind, ChatAddress, ChatDestination, ChatProvider, ChatTarget};
use service_kit::guard::GuardedClient;

use super::wire::PutChatRequest;
use crate::error::Error;
use crate::integrations::parse_url;

/// The notifications that a chat can receive.
const ANNOUNCED: [&str; 3] = [
    ChatTarget::PLANNED,
    ChatTarget::FINISHED,
    ChatTarget::ABANDONED,
];
/// The maximum length of an access token, longer than any of a known chat.
const MAX_TOKEN_BYTES: usize = 2_048;
/// The maximum length of a room id in Matrix.
const MAX_ROOM_BYTES: usize = 255;

/// The validated settings of a project's chat.
pub(super) struct ChatSettings {
    pub(super) destination: ChatDestination,
    /// In the order of [`ANNOUNCED`], without duplicates.
    pub(super) announce: Vec<String>,
}

/// Parses the chat's address and notifications. Whether the address may be called is checked at each call.
pub(super) fn parse(request: PutChatRequest, guard: &GuardedClient) -> Result<ChatSettings, Error> {
    let name = request.provider.as_deref();
    let name = name.ok_or_else(|| Error::invalid("provider is required"))?;
    let provider = ChatProvider::named(name).ok_or_else(|| {
        let names = ChatProvider::ALL.map(ChatProvider::name);
        one_of("provider must be one of", &names)
    })?;
    let announce = parse_announce(request.announce.as_deref())?;
    let address = match provider.address_kind() {
        AddressKind::Room => parse_room(request, guard)?,
        AddressKind::Hook => ChatAddress::Hook {
            webhook_url: parse_url("webhook_url", request.webhook_url.as_deref(), guard)?.into(),
        },
    };
    Ok(ChatSettings {
        destination: ChatDestination { provider, address },
        announce,
    })
}

fn parse_announce(given: Option<&[String]>) -> Result<Vec<String>, Error> {
    let Some(given) = given else {
        return Ok(ChatTarget::usual());
    };
    if !given.iter().all(|kind| ANNOUNCED.contains(&kind.as_str())) {
        return Err(one_of("announce must be a list of", &ANNOUNCED));
    }
    let wanted = ANNOUNCED.map(str::to_owned).into_iter();
    Ok(wanted.filter(|kind| given.contains(kind)).collect())
}

fn parse_room(request: PutChatRequest, guard: &GuardedClient) -> Result<ChatAddress, Error> {
    let given = request.homeserver_url.as_deref();
    let homeserver_url: String = parse_url("homeserver_url", given, guard)?.into();
    if homeserver_url.contains(['?', '#']) {
        return Err(Error::invalid(
            "homeserver_url must not contain a query or a fragment",
        ));
    }
    let room_id = request.room_id;
    let room_id = room_id.ok_or_else(|| Error::invalid("room_id is required"))?;
    let unreadable = |sign: char| sign.is_whitespace() || sign.is_control();
    if !room_id.starts_with('!') || room_id.len() > MAX_ROOM_BYTES || room_id.contains(unreadable) {
        return Err(Error::invalid(
            "room_id must be a room's id, such as !abc:example.org",
        ));
    }
    let access_token = request.access_token;
    let access_token = access_token.ok_or_else(|| Error::invalid("access_token is required"))?;
    // A header carries the token.
    let sendable = access_token.bytes().all(|byte| byte.is_ascii_graphic());
    if access_token.is_empty() || access_token.len() > MAX_TOKEN_BYTES || !sendable {
        return Err(Error::invalid("access_token is not a valid token"));
    }
    Ok(ChatAddress::Room {
        homeserver_url,
        room_id,
        access_token,
    })
}

fn one_of(sentence: &str, names: &[&str]) -> Error {
    Error::invalid(format!("{sentence}: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::{Value, json};
    use service_kit::guard::GuardOptions;

    use super::*;

    fn read_json(body: Value) -> Result<ChatSettings, Error> {
        let guard = GuardedClient::new(GuardOptions::default()).unwrap();
        parse(serde_json::from_value(body).unwrap(), &guard)
    }

    fn room(change: impl FnOnce(&mut Value)) -> Value {
        let mut body = json!({
            "provider": "matrix", "homeserver_url": "https://matrix.example", "room_id": "!abc:matrix.example",
            "access_token": "syt_x"
        });
        change(&mut body);
        body
    }

    #[test]
    fn an_https_url_is_accepted_for_every_chat_with_incoming_webhooks() {
        let address = "https://chat.example/services/T0/B0/x";
        let has_hook = |chat: &ChatProvider| chat.address_kind() == AddressKind::Hook;
        for provider in ChatProvider::ALL.into_iter().filter(has_hook) {
            let read = read_json(json!({"provider": provider.name(), "webhook_url": address}));
            let Ok(read) = read else {
                panic!("{provider:?} is refused");
            };
            assert_eq!(read.destination.provider, provider);
            let webhook_url = address.to_owned();
            assert_eq!(read.destination.address, ChatAddress::Hook { webhook_url });
            assert_eq!(read.announce, ["planned", "finished"]);
        }
    }

    #[test]
    fn a_matrix_room_needs_its_server_and_a_token() {
        let read = read_json(room(|_| ())).ok().unwrap();
        let address = ChatAddress::Room {
            homeserver_url: "https://matrix.example/".to_owned(),
            room_id: "!abc:matrix.example".to_owned(),
            access_token: "syt_x".to_owned(),
        };
        assert_eq!(read.destination.address, address);
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        for (field, value) in [
            ("homeserver_url", Value::Null),
            ("homeserver_url", json!("http://matrix.example")),
            ("homeserver_url", json!("https://matrix.example/?x=1")),
            ("homeserver_url", json!("https://matrix.example/#x")),
            ("room_id", Value::Null),
            ("room_id", json!("#abc:matrix.example")),
            ("room_id", json!("!abc :matrix.example")),
            ("room_id", json!(format!("!{long}"))),
            ("access_token", Value::Null),
            ("access_token", json!("")),
            ("access_token", json!("a b")),
            ("access_token", json!("a\nb")),
            ("access_token", json!(long)),
        ] {
            let changed = room(|body| body[field] = value.clone());
            let read = read_json(changed);
            assert!(matches!(read, Err(Error::Invalid(_))), "{field} {value}");
        }
    }

    #[test]
    fn a_chat_announces_a_subset_of_the_known_kinds() {
        let parse = |announce: Value| read_json(room(|body| body["announce"] = announce));
        let announced = |announce: Value| parse(announce).ok().unwrap().announce;
        assert_eq!(announced(Value::Null), ["planned", "finished"]);
        assert_eq!(announced(json!([])), [""; 0]);
        assert_eq!(
            announced(json!(["abandoned", "planned", "abandoned"])),
            ["planned", "abandoned"]
        );
        for wrong in [
            json!(["started"]),
            json!(["Planned"]),
            json!(["planned", ""]),
        ] {
            assert!(matches!(parse(wrong), Err(Error::Invalid(_))));
        }
    }

    #[test]
    fn an_invalid_chat_address_is_refused() {
        let refused = [
            (None, Some("https://h.example/x")),
            (Some("slack"), None),
            (Some("Slack"), Some("https://h.example/x")),
            (Some("pager"), Some("https://h.example/x")),
            (Some("matrix"), Some("https://h.example/x")),
            (Some("slack"), Some("http://h.example/x")),
            (Some("slack"), Some("https://user:secret@h.example/x")),
        ];
        for (provider, address) in refused {
            let read = read_json(json!({"provider": provider, "webhook_url": address}));
            assert!(
                matches!(read, Err(Error::Invalid(_))),
                "{provider:?} {address:?}"
            );
        }
    }
}
