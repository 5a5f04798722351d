//! The CSV format (RFC 4180).

use chrono::{NaiveDateTime, SecondsFormat};
use csv::{Terminator, Writer, WriterBuilder};

use crate::error::Error;
use crate::rules::points::Points;
use crate::sessions::record::RecordRow;
use crate::sessions::wire::project_kind;

const COLUMNS: [&str; 21] = [
    "session_id",
    "status",
    "category",
    "planned_duration",
    "planning_note",
    "project_id",
    "project_name",
    "project_type",
    "started_at",
    "expected_end_at",
    "ended_at",
    "start_time",
    "end_time",
    "submitted_at",
    "credited_minutes",
    "points_awarded",
    "note",
    "quality_rating",
    "tags",
    "client",
    "flags",
];

/// Returns the line with the column names.
pub(super) fn head() -> Result<Vec<u8>, Error> {
    write(std::iter::once(COLUMNS.map(str::to_owned)))
}

/// Returns a line for each session.
pub(super) fn lines(rows: Vec<RecordRow>) -> Result<Vec<u8>, Error> {
    write(rows.into_iter().map(cells))
}

fn write<const N: usize>(lines: impl Iterator<Item = [String; N]>) -> Result<Vec<u8>, Error> {
    let mut writer: Writer<Vec<u8>> = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(Vec::new());
    for line in lines {
        writer
            .write_record(line.iter().map(|cell| escape_formula(cell)))
            .map_err(Error::internal)?;
    }
    writer.into_inner().map_err(Error::internal)
}

fn cells(row: RecordRow) -> [String; COLUMNS.len()] {
    let time = |at: NaiveDateTime| at.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let optional = |at: Option<NaiveDateTime>| at.map(time).unwrap_or_default();
    let flags = row.flags.0.iter();
    let flags = flags.map(|flag| format!("{} ({})", flag.kind, flag.severity));
    [
        row.session_id,
        row.status.as_str().to_owned(),
        row.category,
        row.planned_duration.to_string(),
        row.planning_note,
        row.project_id.clone(),
        row.project_name,
        project_kind(&row.project_id).to_owned(),
        time(row.started_at),
        time(row.expected_end_at),
        optional(row.ended_at),
        optional(row.start_time),
        optional(row.end_time),
        optional(row.submitted_at),
        row.credited_minutes.to_string(),
        Points(row.points_centi).as_number().to_string(),
        row.note,
        row.quality_rating
            .map(|rating| rating.to_string())
            .unwrap_or_default(),
        row.tags.0.join("; "),
        row.client,
        flags.collect::<Vec<_>>().join("; "),
    ]
}

/// Spreadsheets run a cell that begins with one of these as a formula.
const BEGINS_FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Protects a cell: an apostrophe goes before anything that would begin a formula. It also goes before apostrophes in
/// front of such text, so that removing one always restores the cell.
fn escape_formula(cell: &str) -> String {
    if cell.trim_start_matches('\'').starts_with(BEGINS_FORMULA) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a failed unwrap is a failed test"
    )]
    use proptest::prelude::*;

    use super::*;
    use crate::sessions::export::samples::{any_row, row, text};

    /// Parses the grammar of RFC 4180: lines that end with CRLF, cells with or without quotes.
    fn read(text: &str) -> Vec<Vec<String>> {
        let mut lines = Vec::new();
        let (mut line, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let cell;
            if let Some(mut quoted) = rest.strip_prefix('"') {
                let mut value = String::new();
                loop {
                    let (before, after) = quoted.split_once('"').expect("a quote that ends");
                    value.push_str(before);
                    match after.strip_prefix('"') {
                        Some(more) => {
                            value.push('"');
                            quoted = more;
                        }
                        None => {
                            rest = after;
                            break;
                        }
                    }
                }
                cell = value;
            } else {
                let end = rest.find([',', '\r', '\n', '"']).expect("a line that ends");
                cell = rest[..end].to_owned();
                rest = &rest[end..];
            }
            line.push(cell);
            if let Some(more) = rest.strip_prefix("\r\n") {
                lines.push(std::mem::take(&mut line));
                rest = more;
            } else {
                rest = rest.strip_prefix(',').expect("a comma between cells");
            }
        }
        lines
    }

    /// Restores the text, as a reader of the file would.
    fn unescape_formula(cell: &str) -> &str {
        match cell.strip_prefix('\'') {
            Some(text) if text.trim_start_matches('\'').starts_with(BEGINS_FORMULA) => text,
            _ => cell,
        }
    }

    #[test]
    fn a_session_is_one_line_under_the_column_names() {
        let text = [head().unwrap(), lines(vec![row()]).unwrap()].concat();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "session_id,status,category,planned_duration,planning_note,project_id,project_name,project_type,started_at,\
             expected_end_at,ended_at,start_time,end_time,submitted_at,credited_minutes,points_awarded,note,\
             quality_rating,tags,client,flags\r\n\
             01890a5d-ac96-774b-bcce-b302099a8057,completed,coding,25,the plan,team_1,Engine,team,\
             2026-11-23T09:00:00.000001Z,2026-11-23T09:25:00.000001Z,2026-11-23T09:25:00.000001Z,\
             2026-11-23T09:00:00.000001Z,2026-11-23T09:25:00.000001Z,2026-11-23T09:25:00.000001Z,25,2.55,done,4,\
             deep; am,client_a,\r\n"
        );
    }

    #[test]
    fn a_formula_of_a_spreadsheet_becomes_text() {
        for (cell, safe) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "'\r=1"),
            ("＝1", "'＝1"),
            ("'=1", "''=1"),
            ("'tis", "'tis"),
            ("a=1", "a=1"),
            ("", ""),
        ] {
            assert_eq!(escape_formula(cell), safe);
        }
    }

    proptest! {
        #[test]
        fn any_session_reads_back_and_no_cell_begins_a_formula(row in any_row()) {
            let expected = cells(row.clone());
            let text = String::from_utf8(lines(vec![row.clone(), row]).unwrap()).unwrap();
            let read = read(&text);
            prop_assert_eq!(read.len(), 2);
            for line in &read {
                prop_assert_eq!(line.len(), COLUMNS.len());
                prop_assert!(line.iter().all(|cell| !cell.starts_with(BEGINS_FORMULA)));
                let back: Vec<&str> = line.iter().map(|cell| unescape_formula(cell)).collect();
                prop_assert_eq!(back, expected.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_guarded_cell_can_be_restored(text in text()) {
            let cell = escape_formula(&text);
            prop_assert_eq!(unescape_formula(&cell), &text);
        }
    }
}
