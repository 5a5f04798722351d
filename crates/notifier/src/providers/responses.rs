//! The common part of all chats' responses.

use std::time::Duration;

use serde_json::Value;
use service_kit::guard::GuardedResponse;

/// What a response means for the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostOutcome {
    /// The chat has accepted it.
    Accepted,
    /// The chat may accept it later.
    Retry,
    /// The chat will never accept this message.
    Refused,
    /// The chat will never accept a message at this address.
    Gone,
}

/// The hint for the owner when the chat does not know the incoming webhook.
pub(super) const NO_HOOK: &str = ": the hook was deleted, or its address is incomplete";

/// Classifies a status, for chats that do not use it differently.
pub(super) fn classify_status(status: u16) -> PostOutcome {
    match status {
        200..=299 => PostOutcome::Accepted,
        401 | 403 | 404 | 410 => PostOutcome::Gone,
        408 | 425 | 429 | 500..=599 => PostOutcome::Retry,
        _ => PostOutcome::Refused,
    }
}

/// Returns a text in the body of a response; "" if there is none.
pub(super) fn text(response: &GuardedResponse, pointer: &str) -> String {
    let body = body(response);
    let text = body.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Returns the longer wait of the header `Retry-After` and of a field in the body, which is in units of `unit` seconds.
pub(super) fn retry_after(response: &GuardedResponse, field: &str, unit: f64) -> Option<Duration> {
    let named = body(response).get(field).and_then(Value::as_f64);
    let named = named.and_then(|named| Duration::try_from_secs_f64(named * unit).ok());
    response.retry_after.max(named)
}

fn body(response: &GuardedResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use event_types::ChatProvider::{self, Discord, Matrix, Mattermost, RocketChat, Slack, Zulip};

    use super::*;
    use crate::providers::chat;

    fn response(status: u16, retry_after: Option<u64>, body: &str) -> GuardedResponse {
        GuardedResponse {
            status,
            retry_after: retry_after.map(Duration::from_secs),
            body: body.into(),
            complete: true,
        }
    }

    #[test]
    fn a_status_means_the_same_for_every_chat_unless_the_body_says_more() {
        let slack_outcome = |status| chat(Slack).classify(&response(status, None, "no_text")).0;
        assert_eq!([200, 204].map(slack_outcome), [PostOutcome::Accepted; 2]);
        assert_eq!(
            [401, 403, 404, 410].map(slack_outcome),
            [PostOutcome::Gone; 4]
        );
        assert_eq!(
            [408, 425, 429, 500, 502, 503].map(slack_outcome),
            [PostOutcome::Retry; 6]
        );
        assert_eq!(
            [301, 302, 400, 413, 422].map(slack_outcome),
            [PostOutcome::Refused; 5]
        );

        let deleted = r#"{"id":"web.incoming_webhook.invalid.app_error","status_code":400}"#;
        let too_long = r#"{"id":"web.incoming_webhook.attachment.app_error"}"#;
        let limited = r#"{"errcode":"M_RESOURCE_LIMIT_EXCEEDED"}"#;
        let elsewhere = r#"{"success":false,"error":"invalid-channel"}"#;
        let forbidden = r#"{"errcode":"M_FORBIDDEN"}"#;
        let unknown_token = r#"{"errcode":"M_UNKNOWN_TOKEN"}"#;
        let unknown_hook = r#"{"message":"Unknown Webhook","code":10015}"#;
        for (provider, status, body, expected) in [
            (Mattermost, 400, deleted, PostOutcome::Gone),
            (Mattermost, 400, too_long, PostOutcome::Refused),
            (Slack, 400, deleted, PostOutcome::Refused),
            (RocketChat, 400, elsewhere, PostOutcome::Gone),
            (Matrix, 403, limited, PostOutcome::Retry),
            (Matrix, 403, forbidden, PostOutcome::Gone),
            (Matrix, 401, unknown_token, PostOutcome::Gone),
            (Discord, 404, unknown_hook, PostOutcome::Gone),
        ] {
            let (outcome, _) = chat(provider).classify(&response(status, None, body));
            assert_eq!(outcome, expected, "{provider:?} {body}");
        }
    }

    #[test]
    fn the_failure_reason_includes_what_the_chat_says_beyond_its_status() {
        let hint =
            |provider, status, body| chat(provider).classify(&response(status, None, body)).1;
        let channel = r#"{"id":"web.incoming_webhook.channel.app_error"}"#;
        let locked = r#"{"id":"web.incoming_webhook.channel_locked.app_error"}"#;
        let deleted = r#"{"id":"web.incoming_webhook.invalid.app_error"}"#;
        assert!(hint(Mattermost, 404, channel).contains("channel"));
        assert!(hint(Mattermost, 403, locked).contains("channel"));
        assert!(hint(Mattermost, 400, deleted).contains("deleted"));
        assert!(hint(Discord, 404, "").contains("deleted"));
        assert!(hint(Matrix, 401, "").contains("token"));
        assert!(hint(Matrix, 403, r#"{"errcode":"M_FORBIDDEN"}"#).contains("room"));
        assert_eq!(hint(Slack, 404, "no_service"), "");
        assert_eq!(hint(Matrix, 502, "<html>"), "");
    }

    #[test]
    fn the_longer_of_the_waits_that_a_chat_names_applies() {
        let wait = |provider: ChatProvider, header, body| {
            let wait = chat(provider).retry_after(&response(429, header, body));
            wait.map(|wait| wait.as_millis())
        };
        let discord = r#"{"retry_after":1.5,"global":false}"#;
        assert_eq!(wait(Discord, None, discord), Some(1_500));
        assert_eq!(wait(Discord, Some(2), discord), Some(2_000));
        assert_eq!(wait(Discord, Some(1), discord), Some(1_500));
        assert_eq!(
            wait(Matrix, None, r#"{"retry_after_ms":2500}"#),
            Some(2_500)
        );
        assert_eq!(wait(Zulip, None, r#"{"retry-after":28.5}"#), Some(28_500));
        assert_eq!(wait(Slack, Some(7), discord), Some(7_000));
        for nonsense in [
            "",
            "[]",
            r#"{"retry_after":-3}"#,
            r#"{"retry_after":1e300}"#,
            r#"{"retry_after":"2"}"#,
        ] {
            assert_eq!(wait(Discord, None, nonsense), None, "{nonsense}");
        }
    }
}
