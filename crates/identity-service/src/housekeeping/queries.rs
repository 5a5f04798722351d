use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Db, cached};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamp};

use crate::access::Grant;
use crate::schema::sessions;
use crate::sessions::KEPT;

/// Rows that are removed in one transaction: few enough that nobody waits for it. The statements below have it too.
pub(super) const BATCH: u16 = 500;
/// The key of the advisory lock that PostgreSQL replicas take while they remove rows.
const LOCK_KEY: i64 = 0x686f_6c64_6b65_6570;

/// Rows that nobody needs any more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlived {
    pub(super) kind: &'static str,
    /// For how long they are kept after their time.
    kept: TimeDelta,
    /// Removes a batch of those whose time was over before `$1`. Some may have been renewed after they were looked up.
    statement: &'static str,
}

pub(super) const OUTLIVED: [Outlived; 6] = [
    Outlived {
        kind: "mail_token",
        kept: TimeDelta::zero(),
        statement: "DELETE FROM mail_tokens WHERE token_hash IN \
            (SELECT token_hash FROM mail_tokens WHERE expires_at <= $1 LIMIT 500)",
    },
    Outlived {
        kind: "invitation",
        kept: TimeDelta::days(90),
        statement: "DELETE FROM invitations WHERE id IN \
            (SELECT id FROM invitations WHERE settled_at < $1 OR expires_at < $1 LIMIT 500)",
    },
    Outlived {
        kind: "email_claim",
        kept: TimeDelta::zero(),
        statement: "DELETE FROM email_claims WHERE expires_at <= $1 AND email_lower IN \
            (SELECT email_lower FROM email_claims WHERE expires_at <= $1 LIMIT 500)",
    },
    // Second factors that nobody has shown a code of.
    Outlived {
        kind: "totp_factor",
        kept: TimeDelta::days(1),
        statement: "DELETE FROM totp_factors WHERE confirmed_at IS NULL AND created_at < $1 AND user_id IN \
            (SELECT user_id FROM totp_factors WHERE confirmed_at IS NULL AND created_at < $1 LIMIT 500)",
    },
    // A code that was used, or a device that got its tokens, is known as such for a while.
    Outlived {
        kind: "oauth_code",
        kept: TimeDelta::days(1),
        statement: "DELETE FROM oauth_codes WHERE code_hash IN \
            (SELECT code_hash FROM oauth_codes WHERE expires_at < $1 LIMIT 500)",
    },
    Outlived {
        kind: "oauth_device",
        kept: TimeDelta::days(1),
        statement: "DELETE FROM oauth_devices WHERE device_code_hash IN \
            (SELECT device_code_hash FROM oauth_devices WHERE expires_at < $1 LIMIT 500)",
    },
];

/// Removes a batch of rows; how many.
pub(super) fn delete_outlived(
    db: &mut Db,
    outlived: Outlived,
    now: NaiveDateTime,
) -> QueryResult<usize> {
    let before = now - outlived.kept;
    let delete = diesel::sql_query(outlived.statement).bind::<Timestamp, _>(before);
    cached::<(), _>(delete).execute(db)
}

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
