use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Db, cached};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};

use crate::access::Grant;
use crate::schema::{
    email_claims, invitations, mail_tokens, oauth_codes, oauth_devices, sessions, totp_factors,
};
use crate::sessions::KEPT;

/// Rows that are removed in one transaction: few enough that nobody waits for it.
pub(super) const BATCH: u16 = 500;
/// The key of the advisory lock that PostgreSQL replicas take while they remove rows.
const LOCK_KEY: i64 = 0x686f_6c64_6b65_6570;

/// A settled or expired invitation is kept for this long.
const INVITATIONS_KEPT: TimeDelta = TimeDelta::days(90);
/// A second factor that nobody has shown a code of.
const UNCONFIRMED_FACTORS_KEPT: TimeDelta = TimeDelta::days(1);

/// A code that was used, or a device that got its tokens, is known as such for this long after its time.
const GRANTS_KEPT: TimeDelta = TimeDelta::days(1);

/// Whether no other replica removes rows now; none does until this transaction ends. Two that delete the same rows in
/// different orders would deadlock.
pub(super) fn is_ours(db: &mut Db) -> QueryResult<bool> {
    match db {
        Db::Pg(conn) => {
            let lock = diesel::sql_query("SELECT pg_try_advisory_xact_lock($1)");
            cached::<Bool, _>(lock.bind::<BigInt, _>(LOCK_KEY)).get_result(conn)
        }
        // The transaction has the write lock.
        Db::Sqlite(_) => Ok(true),
    }
}

/// Some expired sessions of single sign-on without living children, and their accounts.
pub(super) fn list_expired(db: &mut Db, now: NaiveDateTime) -> QueryResult<Vec<(String, UserId)>> {
    let below = diesel::alias!(sessions as below);
    let standing = below
        .filter(
            below
                .field(sessions::parent_sid)
                .eq(sessions::id.nullable()),
        )
        .filter(below.field(sessions::revoked_at).is_null());
    let handed_over = sessions::kind.eq(Grant::SSO);
    sessions::table
        .filter(handed_over.or(sessions::parent_sid.is_not_null()))
        .filter(sessions::revoked_at.is_null())
        .filter(
            sessions::expires_at
                .le(now)
                .or(sessions::refresh_expires_at.le(now)),
        )
        .filter(not(exists(standing)))
        .order(sessions::user_id)
        .limit(BATCH.into())
        .select((sessions::id, sessions::user_id))
        .load(db)
}

/// Some sessions that were revoked, or whose last token expired, long ago.
pub(super) fn list_over_sessions(
    db: &mut Db,
    now: NaiveDateTime,
    ttl: TimeDelta,
) -> QueryResult<Vec<String>> {
    let revoked_before = now - KEPT;
    // An access token made with the last refresh may outlive the session's own end.
    let over_before = now - KEPT.max(ttl);
    let below = diesel::alias!(sessions as below);
    let parent = below.field(sessions::parent_sid);
    sessions::table
        // A parent row stays while a child names it: ending an ancestor reaches the child through it.
        .filter(not(exists(below.filter(parent.eq(sessions::id.nullable())))))
        .filter(
            sessions::revoked_at
                .lt(revoked_before)
                .assume_not_null()
                .or(sessions::expires_at.lt(over_before))
                .or(sessions::refresh_expires_at.lt(over_before)),
        )
        .limit(BATCH.into())
        .select(sessions::id)
        .load(db)
}

/// Removes sessions by id: what was over a moment ago does not come to life again.
pub(super) fn delete_sessions(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(db)
}

/// Links in mails whose time is over.
pub(super) fn delete_mail_tokens(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let over = mail_tokens::table
        .filter(mail_tokens::expires_at.le(now))
        .limit(BATCH.into())
        .select(mail_tokens::token_hash);
    let hashes: Vec<String> = over.load(db)?;
    diesel::delete(mail_tokens::table.filter(mail_tokens::token_hash.eq_any(hashes))).execute(db)
}

/// Invitations that were settled, or ran out, long ago.
pub(super) fn delete_invitations(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let before = now - INVITATIONS_KEPT;
    let old = invitations::table
        .filter(
            invitations::settled_at
                .lt(before)
                .assume_not_null()
                .or(invitations::expires_at.lt(before)),
        )
        .limit(BATCH.into())
        .select(invitations::id);
    let ids: Vec<String> = old.load(db)?;
    diesel::delete(invitations::table.filter(invitations::id.eq_any(ids))).execute(db)
}

/// Claims to e-mail addresses that nobody proved in time.
pub(super) fn delete_email_claims(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let lapsed = email_claims::table
        .filter(email_claims::expires_at.le(now))
        .limit(BATCH.into())
        .select(email_claims::email_lower);
    let addresses: Vec<String> = lapsed.load(db)?;
    // Somebody may have renewed one in between.
    let still = email_claims::table
        .filter(email_claims::email_lower.eq_any(addresses))
        .filter(email_claims::expires_at.le(now));
    diesel::delete(still).execute(db)
}

/// Second factors whose setting up was not finished.
pub(super) fn delete_totp_factors(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let before = now - UNCONFIRMED_FACTORS_KEPT;
    let unfinished = totp_factors::table
        .filter(totp_factors::confirmed_at.is_null())
        .filter(totp_factors::created_at.lt(before))
        .limit(BATCH.into())
        .select(totp_factors::user_id);
    let users: Vec<i64> = unfinished.load(db)?;
    let still = totp_factors::table
        .filter(totp_factors::user_id.eq_any(users))
        .filter(totp_factors::confirmed_at.is_null())
        .filter(totp_factors::created_at.lt(before));
    diesel::delete(still).execute(db)
}

/// Authorization codes whose time is over.
pub(super) fn delete_oauth_codes(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let over = oauth_codes::table
        .filter(oauth_codes::expires_at.lt(now - GRANTS_KEPT))
        .limit(BATCH.into())
        .select(oauth_codes::code_hash);
    let hashes: Vec<String> = over.load(db)?;
    diesel::delete(oauth_codes::table.filter(oauth_codes::code_hash.eq_any(hashes))).execute(db)
}

/// Devices whose time is over.
pub(super) fn delete_oauth_devices(db: &mut Db, now: NaiveDateTime) -> QueryResult<usize> {
    let over = oauth_devices::table
        .filter(oauth_devices::expires_at.lt(now - GRANTS_KEPT))
        .limit(BATCH.into())
        .select(oauth_devices::device_code_hash);
    let hashes: Vec<String> = over.load(db)?;
    diesel::delete(oauth_devices::table.filter(oauth_devices::device_code_hash.eq_any(hashes)))
        .execute(db)
}
