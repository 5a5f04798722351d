use actix_web::web::Bytes;
use chrono::{DateTime, NaiveDateTime};

/// The start of a stream: the milliseconds after which a client reconnects.
pub(super) const RETRY: &str = "retry: 2000\n\n";

/// The reason of the last event when the service stops.
const SHUTDOWN: &str = r#"{"reason":"shutdown"}"#;

/// Returns an event. `data` is one line of JSON. A client that is disconnected after this event resumes at `position`.
pub(super) fn event(name: &str, position: NaiveDateTime, data: &str) -> Bytes {
    format!("id: {}\nevent: {name}\ndata: {data}\n\n", id(position)).into()
}

/// Returns the last event. It has no id, so that a client that reconnects resumes where it was.
pub(super) fn end(data: &str) -> Bytes {
    format!("event: end\ndata: {data}\n\n").into()
}

/// Returns the whole stream of a service that stops. An `EventSource` whose request is answered with an error never connects again.
pub(super) fn shutdown() -> String {
    format!("{RETRY}event: end\ndata: {SHUTDOWN}\n\n")
}

/// Returns a heartbeat. As a comment it is no event, but its id advances the position at which a client resumes.
pub(super) fn heartbeat(position: Option<NaiveDateTime>) -> Bytes {
    match position {
        Some(position) => format!(": heartbeat\nid: {}\n\n", id(position)).into(),
        None => Bytes::from_static(b": heartbeat\n\n"),
    }
}

/// What a client has received, according to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastEventId {
    /// Nothing: the client starts anew.
    None,
    /// Everything up to this time.
    At(NaiveDateTime),
    /// A value that no stream has sent.
    Unreadable,
}

impl LastEventId {
    /// Parses the header `Last-Event-ID`.
    pub(super) fn parse(header: Option<&[u8]>) -> Self {
        let Some(header) = header else {
            return Self::None;
        };
        std::str::from_utf8(header)
            .ok()
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| DateTime::from_timestamp_micros(text.parse().ok()?))
            .map_or(Self::Unreadable, |at| Self::At(at.naive_utc()))
    }
}

fn id(position: NaiveDateTime) -> i64 {
    position.and_utc().timestamp_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_id_decodes_to_its_position() {
        let at = DateTime::from_timestamp_micros(1_795_251_600_123_456)
            .map(|at| at.naive_utc())
            .unwrap_or_default();
        let frame = event("timer", at, "{}");
        assert_eq!(
            frame,
            "id: 1795251600123456\nevent: timer\ndata: {}\n\n".as_bytes()
        );
        assert_eq!(
            LastEventId::parse(Some(b"1795251600123456")),
            LastEventId::At(at)
        );
        assert_eq!(LastEventId::parse(None), LastEventId::None);
        for invalid in [
            "",
            "-1",
            "+1",
            "1e9",
            "c7",
            "99999999999999999999",
            "\u{663}",
        ] {
            assert_eq!(
                LastEventId::parse(Some(invalid.as_bytes())),
                LastEventId::Unreadable,
                "{invalid:?}"
            );
        }
    }
}
