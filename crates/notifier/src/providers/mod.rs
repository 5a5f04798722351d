//! How each chat wants a message. Everything that a person typed is hostile here: escaped, mentions
//! disarmed, cut to the provider's limits.

mod slack;
mod text;

use event_types::SessionStarted;
use serde_json::Value;

/// The body of the planning notification in the provider's shape; `None` for a provider that this
/// version does not know.
pub(crate) fn planning_message(provider: &str, started: &SessionStarted) -> Option<Value> {
    match provider {
        "slack" => Some(slack::planning_message(started)),
        _ => None,
    }
}
