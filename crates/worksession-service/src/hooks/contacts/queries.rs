use auth_types::{TeamId, UserId};
use db_kit::{Db, on_backend};
use diesel::prelude::*;
use diesel::upsert::excluded;

use crate::hooks::Hook;
use crate::schema::hook_contacts as contacts;

/// Notes whom to tell of a hook from now on.
pub(super) fn put(
    db: &mut Db,
    hook: Hook,
    user: UserId,
    team: Option<TeamId>,
    sealed: &str,
) -> QueryResult<()> {
    let row = (
        contacts::hook.eq(hook.to_string()),
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

/// Nobody is to be told of the hook any more.
pub(crate) fn forget(db: &mut Db, hook: Hook) -> QueryResult<()> {
    diesel::delete(contacts::table.find(hook.to_string()))
        .execute(db)
        .map(drop)
}

/// Somebody manages a team no more: what its hooks meet with is not for that person.
pub(crate) fn forget_manager(db: &mut Db, user: UserId, team: TeamId) -> QueryResult<usize> {
    let meant = contacts::table
        .filter(contacts::user_id.eq(user.get()))
        .filter(contacts::team_id.eq(team.get()));
    diesel::delete(meant).execute(db)
}

/// Gives whom to tell of a hook, by user and sealed contact, and forgets it: a hook is switched off once.
pub(super) fn take(db: &mut Db, hook: Hook) -> QueryResult<Option<(i64, String)>> {
    diesel::delete(contacts::table.find(hook.to_string()))
        .returning((contacts::user_id, contacts::sealed))
        .get_result(db)
        .optional()
}
