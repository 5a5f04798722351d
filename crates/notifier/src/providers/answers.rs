//! What a chat means by its answer.

use std::time::Duration;

use serde_json::Value;
use service_kit::guard::Answer;

/// Mattermost's word for a hook that it does not know.
const DELETED: &str = "web.incoming_webhook.invalid.app_error";

const NO_HOOK: &str = ": the hook was deleted, or its address is not whole";

/// What an answer says of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// The chat has it.
    Taken,
    /// Not now.
    Later,
    /// Not this one.
    Refused,
    /// Nothing from this address, ever.
    Gone,
}

/// Reads an answer: by its status, unless the chat is known to say something else with it.
pub(crate) fn sense(provider: &str, answer: &Answer) -> Sense {
    let says = |field: &str, word: &str| {
        let body = body(answer);
        body.get(field).and_then(Value::as_str) == Some(word)
    };
    match (provider, answer.status) {
        ("mattermost", 400) if says("id", DELETED) => Sense::Gone,
        // The hook's own channel: no message names another.
        ("rocketchat", 400) if says("error", "invalid-channel") => Sense::Gone,
        // The whole server is over a limit; nothing is said of the token or the room.
        ("matrix", 403) if says("errcode", "M_RESOURCE_LIMIT_EXCEEDED") => Sense::Later,
        (_, 200..=299) => Sense::Taken,
        (_, 401 | 403 | 404 | 410) => Sense::Gone,
        (_, 408 | 425 | 429 | 500..=599) => Sense::Later,
        _ => Sense::Refused,
    }
}

/// What the owner of a chat can do about an answer, where it tells more than its status; goes on after the
/// status.
pub(crate) fn advice(provider: &str, answer: &Answer) -> &'static str {
    let body = body(answer);
    let says = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
    match (provider, answer.status) {
        ("mattermost", 403 | 404) if says("id").starts_with("web.incoming_webhook.channel") => {
            ": the hook may not post to the project's channel"
        }
        ("mattermost", 400) if says("id") == DELETED => NO_HOOK,
        ("mattermost" | "discord" | "rocketchat", 404) => NO_HOOK,
        ("rocketchat", 400) if says("error") == "invalid-channel" => ": the hook's channel is gone",
        ("matrix", 401) => ": the access token is not valid",
        ("matrix", 403) if says("errcode") == "M_FORBIDDEN" => {
            ": the token's user may not post to the room"
        }
        _ => "",
    }
}

/// How long the chat wants to be left alone: what the header says or, in some chats, the body; the longer of
/// the two.
pub(crate) fn asked_wait(provider: &str, answer: &Answer) -> Option<Duration> {
    let (field, unit) = match provider {
        "discord" => ("retry_after", 1.0),
        "zulip" => ("retry-after", 1.0),
        "matrix" => ("retry_after_ms", 0.001),
        _ => return answer.retry_after,
    };
    let said = body(answer).get(field).and_then(Value::as_f64);
    let said = said.and_then(|said| Duration::try_from_secs_f64(said * unit).ok());
    answer.retry_after.max(said)
}

fn body(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, retry_after: Option<u64>, body: &str) -> Answer {
        Answer {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            body: body.into(),
            complete: true,
        }
    }

    #[test]
    fn a_status_means_the_same_everywhere_unless_the_chat_says_more() {
        let plain = |status| sense("slack", &answer(status, None, "no_text"));
        assert_eq!([200, 204].map(plain), [Sense::Taken; 2]);
        assert_eq!([401, 403, 404, 410].map(plain), [Sense::Gone; 4]);
        assert_eq!([408, 425, 429, 500, 502, 503].map(plain), [Sense::Later; 6]);
        assert_eq!([301, 302, 400, 413, 422].map(plain), [Sense::Refused; 5]);

        let deleted = r#"{"id":"web.incoming_webhook.invalid.app_error","status_code":400}"#;
        let too_long = r#"{"id":"web.incoming_webhook.attachment.app_error"}"#;
        let limited = r#"{"errcode":"M_RESOURCE_LIMIT_EXCEEDED"}"#;
        let elsewhere = r#"{"success":false,"error":"invalid-channel"}"#;
        for (provider, status, body, sensed) in [
            ("mattermost", 400, deleted, Sense::Gone),
            ("mattermost", 400, too_long, Sense::Refused),
            ("slack", 400, deleted, Sense::Refused),
            ("rocketchat", 400, elsewhere, Sense::Gone),
            ("matrix", 403, limited, Sense::Later),
            ("matrix", 403, r#"{"errcode":"M_FORBIDDEN"}"#, Sense::Gone),
            (
                "matrix",
                401,
                r#"{"errcode":"M_UNKNOWN_TOKEN"}"#,
                Sense::Gone,
            ),
            (
                "discord",
                404,
                r#"{"message":"Unknown Webhook","code":10015}"#,
                Sense::Gone,
            ),
        ] {
            assert_eq!(
                sense(provider, &answer(status, None, body)),
                sensed,
                "{provider} {body}"
            );
        }
    }

    #[test]
    fn who_can_mend_it_is_told_what_the_chat_says_beyond_its_status() {
        let told = |provider, status, body| advice(provider, &answer(status, None, body));
        let channel = r#"{"id":"web.incoming_webhook.channel.app_error"}"#;
        let locked = r#"{"id":"web.incoming_webhook.channel_locked.app_error"}"#;
        let deleted = r#"{"id":"web.incoming_webhook.invalid.app_error"}"#;
        assert!(told("mattermost", 404, channel).contains("channel"));
        assert!(told("mattermost", 403, locked).contains("channel"));
        assert!(told("mattermost", 400, deleted).contains("deleted"));
        assert!(told("discord", 404, "").contains("deleted"));
        assert!(told("matrix", 401, "").contains("token"));
        assert!(told("matrix", 403, r#"{"errcode":"M_FORBIDDEN"}"#).contains("room"));
        assert_eq!(told("slack", 404, "no_service"), "");
        assert_eq!(told("matrix", 502, "<html>"), "");
    }

    #[test]
    fn the_longer_of_the_waits_that_a_chat_names_holds() {
        let wait = |provider, header, body| {
            asked_wait(provider, &answer(429, header, body)).map(|wait| wait.as_millis())
        };
        let discord = r#"{"retry_after":1.5,"global":false}"#;
        assert_eq!(wait("discord", None, discord), Some(1_500));
        assert_eq!(wait("discord", Some(2), discord), Some(2_000));
        assert_eq!(wait("discord", Some(1), discord), Some(1_500));
        assert_eq!(
            wait("matrix", None, r#"{"retry_after_ms":2500}"#),
            Some(2_500)
        );
        assert_eq!(wait("zulip", None, r#"{"retry-after":28.5}"#), Some(28_500));
        assert_eq!(wait("slack", Some(7), discord), Some(7_000));
        for nonsense in [
            "",
            "[]",
            r#"{"retry_after":-3}"#,
            r#"{"retry_after":1e300}"#,
            r#"{"retry_after":"2"}"#,
        ] {
            assert_eq!(wait("discord", None, nonsense), None, "{nonsense}");
        }
    }
}
