use std::time::Instant;

use super::rules::ROOM;
use super::*;
use crate::ChatReply;

fn call(kind: ChatKind, body: Value) -> ChatMessage {
    let settings = kind.settings("");
    let hook = settings["webhook_url"].as_str();
    let room = format!("/_matrix/client/v3/rooms/{ROOM}/send/m.room.message/1");
    let (path, query) = hook.map_or((room.as_str(), ""), |hook| {
        hook.split_once('?').unwrap_or((hook, ""))
    });
    let header = |name: &str, value: String| (name.to_owned(), value);
    ChatMessage {
        method: if kind == ChatKind::Matrix {
            "PUT"
        } else {
            "POST"
        }
        .to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: vec![
            header("content-type", "application/json".to_owned()),
            header("authorization", format!("Bearer {SECRET}")),
        ],
        raw: body.to_string().into_bytes(),
        body,
        at: Instant::now(),
        reply: ChatReply::Status(200),
    }
}

fn good(kind: ChatKind) -> Value {
    match kind {
        ChatKind::Discord => json!({"content": "x", "allowed_mentions": {"parse": []}}),
        ChatKind::Matrix => json!({
            "msgtype": "m.notice", "body": "x", "format": "org.matrix.custom.html", "formatted_body": "x"
        }),
        _ => json!({"text": "x"}),
    }
}

#[test]
fn a_strict_chat_takes_what_is_right_and_nothing_that_is_not() {
    for kind in ChatKind::ALL {
        let text = match kind {
            ChatKind::Discord => "content",
            ChatKind::Matrix => "body",
            _ => "text",
        };
        let status = |change: fn(&mut ChatMessage)| {
            let mut call = call(kind, good(kind));
            change(&mut call);
            kind.answer(&call, true).0
        };
        assert!((200..300).contains(&status(|_| ())), "{kind:?}");
        assert!(
            status(|call| call.method = "GET".to_owned()) >= 400,
            "{kind:?}"
        );
        assert_eq!(
            status(|call| call.path = "/other".to_owned()),
            404,
            "{kind:?}"
        );
        assert!(status(|call| call.body = Value::Null) >= 400, "{kind:?}");
        let mut empty = call(kind, good(kind));
        empty.body[text] = "".into();
        assert!(kind.answer(&empty, true).0 >= 400, "{kind:?}");
        let mut long = call(kind, good(kind));
        long.body[text] = "x".repeat(70_000).into();
        assert!(kind.answer(&long, true).0 >= 400, "{kind:?}");
        let gone = kind.answer(&call(kind, good(kind)), false).0;
        let expected: &[u16] = if kind == ChatKind::Mattermost {
            &[400]
        } else {
            &[401, 404]
        };
        assert!(expected.contains(&gone), "{kind:?} {gone}");
    }
}
