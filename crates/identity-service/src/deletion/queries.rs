use auth_types::{TeamId, UserId};
use db_kit::Db;
use diesel::prelude::*;

use crate::schema::{team_members, users};

/// Returns the teams of an account, in the order in which they are locked.
pub(super) fn list_team_ids(db: &mut Db, user_id: UserId) -> QueryResult<Vec<TeamId>> {
    team_members::table
        .filter(team_members::user_id.eq(user_id))
        .order(team_members::team_id)
        .select(team_members::team_id)
        .load(db)
}

/// Locks an account for deletion: until the transaction ends, no row that refers to it can be written, such as a new
/// membership. Returns false if the account does not exist.
pub(super) fn lock_to_delete(db: &mut Db, user_id: UserId) -> QueryResult<bool> {
    let account = users::table.find(user_id).select(users::id);
    let id: Option<UserId> = match db {
        Db::Pg(conn) => account.for_update().first(conn).optional()?,
        // The transaction has the database to itself.
        Db::Sqlite(conn) => account.first(conn).optional()?,
    };
    Ok(id.is_some())
}

/// Deletes an account. Foreign keys delete its sessions, memberships, address claims, photo, links and second factor.
pub(super) fn delete_account(db: &mut Db, user_id: UserId) -> QueryResult<()> {
    diesel::delete(users::table.find(user_id))
        .execute(db)
        .map(drop)
}
