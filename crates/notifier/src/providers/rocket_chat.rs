//! Rocket.Chat's incoming integrations: text of at most 5,000 characters.

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::plain::Plain;
use super::responses::{self, NO_HOOK, PostOutcome};
#[cfg(test)]
use super::tests::limits::is_apart;
use super::{ChatAdapter, Notification};

const TEXT: Plain = Plain {
    apart: "<[]|\\#:`!",
    note_limit: 2_800,
    digest_limit: 4_500,
};

pub(super) struct RocketChat;

impl ChatAdapter for RocketChat {
    /// A message may set a channel only if the integration's owner has allowed it, so it sets none.
    fn write(&self, notifications: &[Notification], _channel: &str) -> Value {
        json!({ "text": TEXT.text(notifications) })
    }

    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        match response.status {
            404 => (PostOutcome::Gone, NO_HOOK),
            // It is the integration's own channel, because no message sets another one.
            400 if responses::text(response, "/error") == "invalid-channel" => {
                (PostOutcome::Gone, ": the hook's channel is gone")
            }
            status => (responses::classify_status(status), ""),
        }
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        is_apart(&message["text"], &['<', '[', ']', '#', '`'])
    }
}
