use db_kit::Db;

use super::model::TeamProjectRow;
use super::queries;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::projects::TeamProjectId;

/// Returns the team's name from the caller's membership, or else the last name that is stored.
pub(crate) fn team_name(row: &TeamProjectRow, caller: &CurrentUser) -> String {
    caller
        .membership(row.team_id)
        .map_or_else(|| row.team_name.clone(), |team| team.name.clone())
}

/// Returns the project if the caller is a member of its team.
pub(crate) fn get_as_member(
    db: &mut Db,
    id: TeamProjectId,
    caller: &CurrentUser,
) -> Result<TeamProjectRow, Error> {
    let row = queries::find(db, id)?.ok_or(Error::TeamProjectNotFound)?;
    if caller.membership(row.team_id).is_none() {
        return Err(Error::TeamProjectForbidden);
    }
    Ok(row)
}

/// Returns the project if the caller is an owner or admin of its team.
pub(crate) fn get_as_manager(
    db: &mut Db,
    id: TeamProjectId,
    caller: &CurrentUser,
) -> Result<TeamProjectRow, Error> {
    let row = queries::find(db, id)?.ok_or(Error::TeamProjectNotFound)?;
    if !caller.manages(row.team_id) {
        return Err(Error::TeamProjectChangeForbidden);
    }
    Ok(row)
}
