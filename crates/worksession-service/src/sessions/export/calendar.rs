//! The iCalendar format (RFC 5545).

use chrono::NaiveDateTime;

use crate::rules::points::Points;
use crate::sessions::record::RecordRow;

pub(super) const HEAD: &[u8] =
    b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Holdfast//Work sessions//EN\r\n\
    CALSCALE:GREGORIAN\r\n";
pub(super) const TAIL: &[u8] = b"END:VCALENDAR\r\n";

/// The most octets of a line, without its line break (section 3.1).
const MAX_LINE: usize = 75;

/// Returns an event for each executed session. Any other session is not in a calendar.
pub(super) fn events(rows: &[RecordRow]) -> String {
    let executed = rows.iter().filter(|row| row.status.is_executed());
    let mut text = String::new();
    for row in executed {
        event(&mut text, row);
    }
    text
}

fn event(out: &mut String, row: &RecordRow) {
    line(out, "BEGIN:VEVENT");
    line(out, &format!("UID:{}@holdfast", row.session_id));
    // The submit is the last change of the event's times, so that two exports give the same file.
    let stamp = row.submitted_at.unwrap_or(row.started_at);
    line(out, &format!("DTSTAMP:{}", utc(stamp)));
    line(out, &format!("DTSTART:{}", utc(row.started_at)));
    // An end must be later than the start (section 3.6.1). Without an end the event takes no time.
    if let Some(ended) = row
        .ended_at
        .filter(|ended| utc(*ended) > utc(row.started_at))
    {
        line(out, &format!("DTEND:{}", utc(ended)));
    }
    line(out, &format!("SUMMARY:{}", escape(&summary(row))));
    line(out, &format!("DESCRIPTION:{}", escape(&description(row))));
    let categories: Vec<String> = std::iter::once(&row.category)
        .chain(&row.tags.0)
        .map(|name| escape(name))
        .filter(|name| !name.is_empty())
        .collect();
    if !categories.is_empty() {
        line(out, &format!("CATEGORIES:{}", categories.join(",")));
    }
    // The event records past work, and does not make its user busy.
    line(out, "TRANSP:TRANSPARENT");
    line(out, "END:VEVENT");
}

fn summary(row: &RecordRow) -> String {
    if row.project_name.is_empty() {
        row.category.clone()
    } else {
        format!("{} – {}", row.category, row.project_name)
    }
}

fn description(row: &RecordRow) -> String {
    let mut parts = Vec::new();
    if !row.planning_note.is_empty() {
        parts.push(format!("Plan: {}", row.planning_note));
    }
    if !row.note.is_empty() {
        parts.push(format!("Done: {}", row.note));
    }
    if let Some(rating) = row.quality_rating {
        parts.push(format!("Rating: {rating} of 5"));
    }
    parts.push(format!(
        "Credited: {} of {} minutes, {} points",
        row.credited_minutes,
        row.planned_duration,
        Points(row.points_centi).as_number()
    ));
    parts.join("\n")
}

/// Formats an instant in whole seconds, which is the precision of the format (section 3.3.5).
fn utc(at: NaiveDateTime) -> String {
    at.format("%Y%m%dT%H%M%SZ").to_string()
}

/// Escapes a text as a value (section 3.3.11). Each kind of line break becomes `\n`. Other control characters, except
/// the tab, cannot be represented and are dropped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' | '\r' => out.push_str("\\n"),
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes a content line, folded between characters after 75 octets. The space that begins each further line counts.
fn line(out: &mut String, text: &str) {
    let mut remaining = MAX_LINE;
    for c in text.chars() {
        if c.len_utf8() > remaining {
            out.push_str("\r\n ");
            remaining = MAX_LINE - 1;
        }
        out.push(c);
        remaining -= c.len_utf8();
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed unwrap is a failed test"
    )]
    use chrono::TimeDelta;
    use icalendar::{Calendar, CalendarComponent, Component as _, Event, EventLike as _};
    use proptest::prelude::*;

    use super::*;
    use crate::sessions::export::samples::{any_row, row};
    use crate::sessions::model::SessionStatus;

    fn file(rows: &[RecordRow]) -> String {
        let bytes = [HEAD, events(rows).as_bytes(), TAIL].concat();
        String::from_utf8(bytes).unwrap()
    }

    /// Parses the file with another implementation.
    fn read(text: &str) -> Vec<Event> {
        let calendar: Calendar = text.parse().unwrap();
        let events = calendar
            .components
            .into_iter()
            .map(|component| match component {
                CalendarComponent::Event(event) => event,
                other => panic!("no event: {other:?}"),
            });
        events.collect()
    }

    /// Returns what remains of a text in a calendar.
    fn representable(text: &str) -> String {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        text.chars()
            .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
            .collect()
    }

    #[test]
    fn an_executed_session_is_an_event() {
        let text = file(&[row()]);
        assert_eq!(
            text,
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Holdfast//Work sessions//EN\r\nCALSCALE:GREGORIAN\r\n\
             BEGIN:VEVENT\r\nUID:01890a5d-ac96-774b-bcce-b302099a8057@holdfast\r\nDTSTAMP:20261123T092500Z\r\n\
             DTSTART:20261123T090000Z\r\nDTEND:20261123T092500Z\r\nSUMMARY:coding – Engine\r\n\
             DESCRIPTION:Plan: the plan\\nDone: done\\nRating: 4 of 5\\nCredited: 25 of 25 \r\n minutes\\, 2.55 points\r\n\
             CATEGORIES:coding,deep,am\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
        );
    }

    #[test]
    fn an_unexecuted_session_is_no_event_and_one_without_duration_has_no_end() {
        for (status, expected) in [
            (SessionStatus::Running, 0),
            (SessionStatus::AwaitingSubmit, 0),
            (SessionStatus::Abandoned, 0),
            (SessionStatus::Partial, 1),
        ] {
            let rows = [RecordRow { status, ..row() }];
            assert_eq!(read(&file(&rows)).len(), expected, "{status:?}");
        }
        for after in [0, -3_600] {
            let ended_at = Some(row().started_at + TimeDelta::seconds(after));
            let text = file(&[RecordRow { ended_at, ..row() }]);
            assert!(!text.contains("DTEND"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn another_implementation_reads_any_session_unchanged(rows in prop::collection::vec(any_row(), 0..3)) {
            let text = file(&rows);
            for line in text.strip_suffix("\r\n").unwrap().split("\r\n") {
                prop_assert!(line.len() <= MAX_LINE, "{:?}", line);
                prop_assert!(!line.contains(['\r', '\n']), "{:?}", line);
                prop_assert!(!line.chars().any(|c| c.is_control() && c != '\t'), "{:?}", line);
            }
            let read = read(&text);
            prop_assert_eq!(read.len(), rows.len());
            for (event, row) in read.iter().zip(&rows) {
                prop_assert_eq!(event.get_summary().unwrap_or_default(), representable(&summary(row)));
                prop_assert_eq!(event.get_description().unwrap_or_default(), representable(&description(row)));
                let categories: Vec<String> = std::iter::once(&row.category)
                    .chain(&row.tags.0)
                    .map(|name| representable(name))
                    .filter(|name| !name.is_empty())
                    .collect();
                prop_assert_eq!(event.get_categories().unwrap_or_default(), categories);
            }
        }
    }
}
