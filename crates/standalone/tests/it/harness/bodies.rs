//! Request bodies.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

/// Returns a plan of 25 minutes of coding.
pub fn plan(project_id: &str) -> Value {
    json!({"category": "coding", "duration": 25, "project_id": project_id, "note": "Write the parser"})
}

/// Returns the submit that matches [`plan`].
pub fn execution(
    session: &str,
    project_id: &str,
    start: DateTime<Utc>,
    end: DateTime<Utc>,
) -> Value {
    json!({
        "session_id": session,
        "category": "coding",
        "project_id": project_id,
        "duration": 25,
        "note": "It parses",
        "start_time": iso(start),
        "end_time": iso(end),
    })
}

/// Formats a time the way clients do.
pub fn iso(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}
