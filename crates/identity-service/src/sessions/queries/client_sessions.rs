//! Sessions of OAuth clients, as far as sign-outs concern them.

use auth_types::UserId;
use db_kit::Db;
use diesel::dsl::Like;
use diesel::prelude::*;

use crate::schema::{oauth_clients, sessions};

/// A session whose client has a back-channel logout address.
#[derive(Debug, Queryable)]
pub(crate) struct ClientSession {
    pub(crate) id: String,
    pub(crate) client_id: String,
    /// Whether it has not ended yet. It goes on unless it is ended now.
    pub(crate) is_unrevoked: bool,
    /// Whether the client may stay signed in while the user is away.
    pub(crate) is_offline: bool,
    pub(crate) id_token_alg: String,
    /// The client's metadata, as JSON.
    pub(crate) metadata: String,
}

/// The condition for clients with a back-channel logout address, as their metadata are stored. No address contains a
/// quotation mark.
pub(crate) fn with_logout_uri() -> Like<oauth_clients::metadata, &'static str> {
    oauth_clients::metadata.like("%\"backchannel_logout_uri\":\"%")
}

/// Lists those of the ended sessions, and the live sessions that were authorized in one of them, whose clients have a
/// back-channel logout address. Without the scope `openid`, a client does not know its session's id.
pub(crate) fn list_sessions_to_call(
    db: &mut Db,
    ended: &[String],
) -> QueryResult<Vec<ClientSession>> {
    let authorized = sessions::authorized_by
        .eq_any(ended)
        .and(sessions::revoked_at.is_null());
    sessions::table
        .inner_join(oauth_clients::table.on(oauth_clients::id.nullable().eq(sessions::client_id)))
        .filter(sessions::id.eq_any(ended).or(authorized))
        .filter(sessions::scope.like("%openid%"))
        .filter(with_logout_uri())
        // The order of all code that ends several sessions.
        .order(sessions::id)
        .select((
            sessions::id,
            oauth_clients::id,
            sessions::revoked_at.is_null(),
            sessions::scope.like("%offline_access%").assume_not_null(),
            oauth_clients::id_token_alg,
            oauth_clients::metadata,
        ))
        .load(db)
}

/// Finds the unrevoked session of a client by the id in its ID tokens, if it belongs to the account and has no offline access.
pub(crate) fn find_client_session(
    db: &mut Db,
    user_id: UserId,
    (id, client_id): (&str, &str),
) -> QueryResult<Option<String>> {
    sessions::table
        .find(id)
        .filter(sessions::user_id.eq(user_id))
        .filter(sessions::client_id.eq(client_id))
        .filter(sessions::scope.not_like("%offline_access%"))
        .filter(sessions::revoked_at.is_null())
        .select(sessions::id)
        .first(db)
        .optional()
}

/// Makes the sessions that were authorized in `from` sessions of `to`, when the same user signs in again.
pub(crate) fn move_authorized(db: &mut Db, from: &str, to: &str) -> QueryResult<()> {
    diesel::update(sessions::table.filter(sessions::authorized_by.eq(from)))
        .set(sessions::authorized_by.eq(to))
        .execute(db)
        .map(drop)
}

/// Whether a client's session was authorized in the session `by`.
pub(crate) fn is_authorized_by(
    db: &mut Db,
    (id, client_id): (&str, &str),
    by: &str,
) -> QueryResult<bool> {
    let known = sessions::table
        .find(id)
        .filter(sessions::client_id.eq(client_id))
        .filter(sessions::authorized_by.eq(by));
    diesel::select(diesel::dsl::exists(known)).get_result(db)
}
