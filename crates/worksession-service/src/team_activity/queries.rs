use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text, Timestamp};

use super::wire::{ActiveMember, RunningSession};

/// Returns the totals of each user's sessions on the team's projects that started at `since` or later. Limited to the
/// 200 users with the most credited minutes.
pub(super) fn list_members(
    db: &mut Db,
    team: TeamId,
    since: NaiveDateTime,
) -> QueryResult<Vec<ActiveMember>> {
    statement::<((BigInt, Text), BigInt, BigInt, BigInt)>(
        "SELECT user_id, max(username), count(*), sum(planned_duration), sum(credited_minutes) \
         FROM team_projects t JOIN sessions s ON s.project_id = 'team_' || t.id AND s.team_id IS NOT NULL \
          AND started_at >= $1 \
         WHERE t.team_id = $2 GROUP BY user_id ORDER BY 5 DESC, 1 LIMIT 200",
    )
    .bind::<Timestamp, _>(since)
    .bind::<BigInt, _>(team)
    .load(db)
}

type RunningSql = (
    Text,
    (BigInt, Text),
    (Text, Text),
    Text,
    Integer,
    Timestamp,
    Timestamp,
);

/// Returns the oldest 200 running sessions on the team's projects that started at `since` or later. Hiding the status
/// in an expression keeps PostgreSQL from scanning all running sessions.
pub(super) fn list_running(
    db: &mut Db,
    team: TeamId,
    since: NaiveDateTime,
    now: NaiveDateTime,
) -> QueryResult<Vec<RunningSession>> {
    let running = statement::<RunningSql>(
        "SELECT session_id, user_id, username, project_id, project_name, category, planned_duration, \
          started_at, expected_end_at \
         FROM team_projects t JOIN sessions s ON s.project_id = 'team_' || t.id AND s.team_id IS NOT NULL \
          AND started_at >= $1 \
         WHERE t.team_id = $2 AND status || '' = 'running' AND expected_end_at > $3 \
         ORDER BY started_at, session_id LIMIT 200",
    )
    .bind::<Timestamp, _>(since)
    .bind::<BigInt, _>(team)
    .bind::<Timestamp, _>(now);
    running.load(db)
}
