use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Timestamp};

use super::model::{RunningRow, RunningSql, SumRow, SumSql};
use db_kit::statement::{Statement, arguments};

arguments! {
    struct SumArguments {
        team_id: i64 as BigInt,
        since: NaiveDateTime as Timestamp,
    }
}

arguments! {
    struct RunningArguments {
        team_id: i64 as BigInt,
        since: NaiveDateTime as Timestamp,
        now: NaiveDateTime as Timestamp,
    }
}

/// What each user's sessions come to that started on the team's projects from then on: the 200 with the most credited
/// minutes.
pub(super) fn sums(db: &mut Db, team: TeamId, since: NaiveDateTime) -> QueryResult<Vec<SumRow>> {
    const TEXT: &str = "SELECT user_id, max(username), count(*), sum(planned_duration), sum(credited_minutes) \
        FROM team_projects t JOIN sessions s ON s.project_id = 'team_' || t.id AND s.team_id IS NOT NULL \
         AND started_at >= (SELECT p_since FROM a) \
        WHERE t.team_id = (SELECT p_team_id FROM a) \
        GROUP BY user_id ORDER BY 5 DESC, 1 LIMIT 200";
    let arguments = SumArguments {
        team_id: team.get(),
        since,
    };
    Statement::<_, SumSql>::new(|| TEXT, &arguments).load(db)
}

/// Sessions on the team's projects that started at `since` or later and run now, the oldest 200. With the state in plain
/// sight PostgreSQL would look through all sessions that run anywhere.
pub(super) fn running(
    db: &mut Db,
    team: TeamId,
    since: NaiveDateTime,
    now: NaiveDateTime,
) -> QueryResult<Vec<RunningRow>> {
    const TEXT: &str = "SELECT session_id, user_id, username, project_id, project_name, category, planned_duration, \
         started_at, expected_end_at \
        FROM team_projects t JOIN sessions s ON s.project_id = 'team_' || t.id AND s.team_id IS NOT NULL \
         AND started_at >= (SELECT p_since FROM a) \
        WHERE t.team_id = (SELECT p_team_id FROM a) \
         AND status || '' = 'running' AND expected_end_at > (SELECT p_now FROM a) \
        ORDER BY started_at, session_id LIMIT 200";
    let arguments = RunningArguments {
        team_id: team.get(),
        since,
        now,
    };
    Statement::<_, RunningSql>::new(|| TEXT, &arguments).load(db)
}
