//! Zulip's Slack-compatible incoming webhook: text of at most 10,000 characters.

use std::time::Duration;

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::plain::Plain;
use super::responses;
#[cfg(test)]
use super::tests::limits::is_apart;
use super::{ChatAdapter, Notification};

const TEXT: Plain = Plain {
    apart: "<[]|\\#:`*_~$!",
    note_limit: 5_000,
    digest_limit: 9_000,
};

const TOPIC: usize = 60;

pub(super) struct Zulip;

impl ChatAdapter for Zulip {
    /// The project's channel is the topic, unless the webhook's URL contains one.
    fn write(&self, notifications: &[Notification], channel: &str) -> Value {
        let text = TEXT.text(notifications);
        let topic: String = channel.trim().chars().take(TOPIC).collect();
        if topic.is_empty() {
            return json!({ "text": text });
        }
        json!({ "text": text, "channel": topic })
    }

    fn retry_after(&self, response: &GuardedResponse) -> Option<Duration> {
        responses::retry_after(response, "retry-after", 1.0)
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        is_apart(&message["text"], &['<', '[', ']', '#', '`', '$'])
    }
}
