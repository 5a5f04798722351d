use auth_types::TeamId;
use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::model::{NewTeamProject, TeamProjectChanges, TeamProjectRow};
use crate::chat_settings::model::ChatRow;
use crate::columns::columns;
use crate::projects::TeamProjectId;
use crate::schema::{chat_integrations, team_projects};

/// Lists the projects of these teams, oldest first; archived ones only if `archived`.
pub(crate) fn list(
    db: &mut Db,
    teams: &[TeamId],
    archived: bool,
) -> QueryResult<Vec<TeamProjectRow>> {
    let teams = teams.iter().map(|team| team.get());
    let rows = team_projects::table
        .filter(team_projects::team_id.eq_any(teams))
        .order(team_projects::id)
        .select(columns::<TeamProjectRow>());
    match archived {
        true => rows.load(db),
        false => rows.filter(team_projects::archived_at.is_null()).load(db),
    }
}

/// Finds a team project of any team.
pub(crate) fn find(db: &mut Db, id: TeamProjectId) -> QueryResult<Option<TeamProjectRow>> {
    team_projects::table
        .filter(team_projects::id.eq(id))
        .select(columns::<TeamProjectRow>())
        .first(db)
        .optional()
}

/// Finds a team project and its chat settings in one query, because a start needs both.
pub(crate) fn find_with_chat(
    db: &mut Db,
    id: TeamProjectId,
) -> QueryResult<Option<(TeamProjectRow, Option<ChatRow>)>> {
    team_projects::table
        .left_join(chat_integrations::table)
        .filter(team_projects::id.eq(id))
        .select((columns::<TeamProjectRow>(), columns::<ChatRow>().nullable()))
        .first(db)
        .optional()
}

/// Counts the team's projects, archived ones included. It locks the team's first project, so that concurrent calls
/// wait until the transaction ends. A team without a project is far from any limit.
pub(super) fn count_and_lock(db: &mut Db, team: TeamId) -> QueryResult<i64> {
    let rows = team_projects::table.filter(team_projects::team_id.eq(team));
    if let Db::Pg(conn) = db {
        let first = rows.select(team_projects::id).order(team_projects::id);
        first.limit(1).for_update().load::<i64>(conn)?;
    }
    rows.count().get_result(db)
}

pub(super) fn insert(db: &mut Db, new: &NewTeamProject) -> QueryResult<TeamProjectRow> {
    diesel::insert_into(team_projects::table)
        .values(new)
        .returning(columns::<TeamProjectRow>())
        .get_result(db)
}

pub(super) fn update(
    db: &mut Db,
    id: TeamProjectId,
    changes: &TeamProjectChanges,
) -> QueryResult<TeamProjectRow> {
    diesel::update(team_projects::table.filter(team_projects::id.eq(id)))
        .set(changes)
        .returning(columns::<TeamProjectRow>())
        .get_result(db)
}

/// Archives the project. One that is already archived keeps its time.
pub(super) fn archive(db: &mut Db, id: TeamProjectId, now: NaiveDateTime) -> QueryResult<usize> {
    diesel::update(team_projects::table.find(id))
        .filter(team_projects::archived_at.is_null())
        .set((
            team_projects::archived_at.eq(now),
            team_projects::updated_at.eq(now),
        ))
        .execute(db)
}

pub(crate) fn archive_all(db: &mut Db, team: TeamId, now: NaiveDateTime) -> QueryResult<usize> {
    diesel::update(team_projects::table)
        .filter(team_projects::team_id.eq(team))
        .filter(team_projects::archived_at.is_null())
        .set((
            team_projects::archived_at.eq(now),
            team_projects::updated_at.eq(now),
        ))
        .execute(db)
}

/// Updates the team's name in its projects.
pub(crate) fn rename_team(db: &mut Db, team: TeamId, name: &str) -> QueryResult<usize> {
    diesel::update(team_projects::table)
        .filter(team_projects::team_id.eq(team))
        .filter(team_projects::team_name.ne(name))
        .set(team_projects::team_name.eq(name))
        .execute(db)
}
