//! Sessions with arbitrary texts, for the tests of the formats.

use chrono::{DateTime, NaiveDateTime, TimeDelta};
use proptest::prelude::*;

use crate::sessions::model::SessionStatus;
use crate::sessions::record::{Flags, RecordRow, Tags};

/// Returns a completed session.
pub(super) fn row() -> RecordRow {
    let at = |micros| DateTime::from_timestamp_micros(micros).map(|at| at.naive_utc());
    let start: NaiveDateTime = at(1_795_424_400_000_001).unwrap_or_default();
    let end = start + TimeDelta::minutes(25);
    RecordRow {
        session_id: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
        status: SessionStatus::Completed,
        category: "coding".to_owned(),
        planned_duration: 25,
        planning_note: "the plan".to_owned(),
        project_id: "team_1".to_owned(),
        project_name: "Engine".to_owned(),
        started_at: start,
        expected_end_at: end,
        ended_at: Some(end),
        start_time: Some(start),
        end_time: Some(end),
        submitted_at: Some(end),
        credited_minutes: 25,
        points_centi: 255,
        note: "done".to_owned(),
        quality_rating: Some(4),
        tags: Tags(vec!["deep".to_owned(), "am".to_owned()]),
        client: "client_a".to_owned(),
        flags: Flags::default(),
    }
}

/// Generates texts without NUL, which no body may hold. Characters that are special in some format are frequent.
pub(super) fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(vec![
        "=",
        "+",
        "-",
        "@",
        "'",
        "\"",
        ",",
        ";",
        "\\",
        ":",
        "\r\n",
        "\n",
        "\r",
        "\t",
        " ",
        "＝",
        "é",
        "🦀",
        "\u{7f}",
        "BEGIN:VEVENT",
        "\\n",
    ]);
    let piece = prop_oneof![3 => special.prop_map(str::to_owned), 1 => "[^\\x00]{0,12}", 1 => "[a-z]{0,90}"];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// Generates sessions with such texts.
pub(super) fn any_row() -> impl Strategy<Value = RecordRow> {
    let tags = prop::collection::vec(text(), 0..4);
    let texts = (
        text(),
        text(),
        text(),
        text(),
        tags,
        prop::option::of(1..=5),
    );
    texts.prop_map(
        |(category, planning_note, project_name, note, tags, quality_rating)| RecordRow {
            category,
            planning_note,
            project_name,
            note,
            quality_rating,
            tags: Tags(tags),
            ..row()
        },
    )
}
