use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text, Timestamp};

use super::model::{ActivityRow, ActivitySql};
use crate::page::Position;
use crate::projects::{ProjectRef, TeamProjectId};
use db_kit::statement::{Statement, arguments};

arguments! {
    struct ActivityArguments {
        project_id: String as Text,
        until: NaiveDateTime as Timestamp,
        until_id: String as Text,
        limit: i32 as Integer,
    }
}

/// Up to `limit` sessions on the project that stand before that place, newest first, each with the last word of the
/// notifier about it. As many as the longest page and one more are looked at, written out so that PostgreSQL reads
/// them from the index.
pub(super) fn newest(
    db: &mut Db,
    project: TeamProjectId,
    until: Position,
    limit: i32,
) -> QueryResult<Vec<ActivityRow>> {
    const TEXT: &str = "SELECT s.session_id, user_id, username, category, planned_duration, planning_note, status, \
         started_at, expected_end_at, ended_at, credited_minutes, n.outcome, n.reason, n.settled_at \
        FROM (SELECT * FROM sessions WHERE project_id = (SELECT p_project_id FROM a) AND team_id IS NOT NULL \
         AND started_at <= (SELECT p_until FROM a) \
         AND (started_at < (SELECT p_until FROM a) OR session_id < (SELECT p_until_id FROM a)) \
         ORDER BY started_at DESC, session_id DESC LIMIT 201) AS s \
        LEFT JOIN notifications n ON n.session_id = s.session_id AND n.event_id = (SELECT event_id FROM notifications l \
         WHERE l.session_id = s.session_id ORDER BY l.settled_at DESC, event_id DESC LIMIT 1) \
        ORDER BY started_at DESC, s.session_id DESC LIMIT (SELECT p_limit FROM a)";
    let arguments = ActivityArguments {
        project_id: ProjectRef::Team(project).to_string(),
        until: until.started_at,
        until_id: until.session_id,
        limit,
    };
    Statement::<_, ActivitySql>::new(|| TEXT, &arguments).load(db)
}
