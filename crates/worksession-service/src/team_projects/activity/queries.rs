use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamp};

use super::wire::ActivityEntry;
use crate::pagination::SessionCursor;
use crate::projects::{ProjectRef, TeamProjectId};

type ActivitySql = (
    Text,
    (BigInt, Text),
    Text,
    Integer,
    Text,
    Text,
    Timestamp,
    Timestamp,
    Nullable<Timestamp>,
    Integer,
    Nullable<(Text, Nullable<Text>, Timestamp)>,
);

/// Returns up to `limit` sessions on the project before that position, newest first, each with the last outcome from
/// the notifier. The inner limit, the maximum page and one more, is a literal so that PostgreSQL reads from the index.
pub(super) fn list_newest(
    db: &mut Db,
    project: TeamProjectId,
    until: SessionCursor,
    limit: i32,
) -> QueryResult<Vec<ActivityEntry>> {
    statement::<ActivitySql>(
        "SELECT s.session_id, user_id, username, category, planned_duration, planning_note, status, \
          started_at, expected_end_at, ended_at, credited_minutes, n.outcome, n.reason, n.settled_at \
         FROM (SELECT * FROM sessions WHERE project_id = $1 AND team_id IS NOT NULL \
          AND started_at <= $2 AND (started_at < $2 OR session_id < $3) \
          ORDER BY started_at DESC, session_id DESC LIMIT 201) AS s \
         LEFT JOIN notifications n ON n.session_id = s.session_id AND n.event_id = (SELECT event_id FROM notifications l \
          WHERE l.session_id = s.session_id ORDER BY l.settled_at DESC, event_id DESC LIMIT 1) \
         ORDER BY started_at DESC, s.session_id DESC LIMIT $4",
    )
    .bind::<Text, _>(ProjectRef::Team(project).to_string())
    .bind::<Timestamp, _>(until.started_at)
    .bind::<Text, _>(until.session_id)
    .bind::<Integer, _>(limit)
    .load(db)
}
