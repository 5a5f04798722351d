use auth_types::{TeamId, UserId};
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;

use crate::integrations::Integration;
use crate::schema::hook_contacts as contacts;

/// Stores the contact of an integration, and replaces an earlier one.
pub(super) fn upsert(
    db: &mut Db,
    integration: Integration,
    user: UserId,
    team: Option<TeamId>,
    sealed: &str,
) -> QueryResult<()> {
    let row = (
        contacts::hook.eq(integration.to_string()),
        contacts::user_id.eq(user.get()),
        contacts::team_id.eq(team.map(TeamId::get)),
        contacts::sealed.eq(sealed),
    );
    on_backend!(db, conn => diesel::insert_into(contacts::table)
        .values(row)
        .on_conflict(contacts::hook)
        .do_update()
        .set((
            contacts::user_id.eq(excluded(contacts::user_id)),
            contacts::team_id.eq(excluded(contacts::team_id)),
            contacts::sealed.eq(excluded(contacts::sealed)),
        ))
        .execute(conn))
    .map(drop)
}

/// Deletes the contact of an integration.
pub(crate) fn delete(db: &mut Db, integration: Integration) -> QueryResult<()> {
    diesel::delete(contacts::table.find(integration.to_string()))
        .execute(db)
        .map(drop)
}

/// Deletes a former manager's contacts of the team's integrations, because later mails are not for them.
pub(crate) fn delete_for_manager(db: &mut Db, user: UserId, team: TeamId) -> QueryResult<usize> {
    let outdated = contacts::table
        .filter(contacts::user_id.eq(user.get()))
        .filter(contacts::team_id.eq(team.get()));
    diesel::delete(outdated).execute(db)
}

/// Deletes the contact of an integration and returns its user and encrypted text, so that only one mail is sent.
pub(super) fn take(db: &mut Db, integration: Integration) -> QueryResult<Option<(i64, String)>> {
    diesel::delete(contacts::table.find(integration.to_string()))
        .returning((contacts::user_id, contacts::sealed))
        .get_result(db)
        .optional()
}
