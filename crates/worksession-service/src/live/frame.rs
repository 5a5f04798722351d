use actix_web::web::Bytes;
use chrono::{DateTime, NaiveDateTime};

/// The first lines of a stream: how long to wait before coming back, in milliseconds.
pub(super) const RETRY: &str = "retry: 2000\n\n";

/// An event with its data, which is one line of JSON. A client that saw it and was cut off comes back with `position`.
pub(super) fn event(name: &str, position: NaiveDateTime, data: &str) -> Bytes {
    format!("id: {}\nevent: {name}\ndata: {data}\n\n", id(position)).into()
}

/// The last event: a client that comes back begins where it was.
pub(super) fn end(data: &str) -> Bytes {
    format!("event: end\ndata: {data}\n\n").into()
}

/// A sign of life. It is no event, and still moves on the place from which a client goes on.
pub(super) fn heartbeat(position: Option<NaiveDateTime>) -> Bytes {
    match position {
        Some(position) => format!(": heartbeat\nid: {}\n\n", id(position)).into(),
        None => Bytes::from_static(b": heartbeat\n\n"),
    }
}

/// What a client knows, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastEvent {
    /// Nothing: it begins.
    None,
    /// Everything up to there.
    At(NaiveDateTime),
    /// Something that was never given out.
    Unreadable,
}

impl LastEvent {
    /// Reads the header `Last-Event-ID`.
    pub(super) fn read(header: Option<&[u8]>) -> Self {
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
    fn a_position_is_read_back_from_the_last_events_id() {
        let at = DateTime::from_timestamp_micros(1_795_251_600_123_456)
            .map(|at| at.naive_utc())
            .unwrap_or_default();
        let frame = event("timer", at, "{}");
        assert_eq!(
            frame,
            "id: 1795251600123456\nevent: timer\ndata: {}\n\n".as_bytes()
        );
        assert_eq!(
            LastEvent::read(Some(b"1795251600123456")),
            LastEvent::At(at)
        );
        assert_eq!(LastEvent::read(None), LastEvent::None);
        for odd in [
            "",
            "-1",
            "+1",
            "1e9",
            "c7",
            "99999999999999999999",
            "\u{663}",
        ] {
            assert_eq!(
                LastEvent::read(Some(odd.as_bytes())),
                LastEvent::Unreadable,
                "{odd:?}"
            );
        }
    }
}
