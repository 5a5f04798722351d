use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Db, statement};
use diesel::dsl::{exists, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Timestamp};

use crate::schema::{oauth_clients, sessions};
use crate::sessions::KEPT;
use crate::sessions::queries::with_logout_uri;
use crate::token_access::Grant;

/// The number of rows deleted in one transaction, small enough to delay nobody. The statements below repeat it.
pub(super) const BATCH: u16 = 500;
/// The key of the advisory lock that a PostgreSQL replica holds while it deletes rows.
const LOCK_KEY: i64 = 0x686f_6c64_6b65_6570;

/// One kind of expired rows, with its retention.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpiredRows {
    pub(super) kind: &'static str,
    /// How long the rows are kept after they have expired.
    retention: TimeDelta,
    /// Deletes a batch of the rows that expired before `$1`. Some may have been renewed since they were selected.
    statement: &'static str,
}

pub(super) const OUTLIVED: [ExpiredRows; 6] = [
    ExpiredRows {
        kind: "mail_token",
        retention: TimeDelta::zero(),
        statement: "DELETE FROM mail_tokens WHERE token_hash IN \
            (SELECT token_hash FROM mail_tokens WHERE expires_at <= $1 LIMIT 500)",
    },
    ExpiredRows {
        kind: "invitation",
        retention: TimeDelta::days(90),
        statement: "DELETE FROM invitations WHERE id IN \
            (SELECT id FROM invitations WHERE settled_at < $1 OR expires_at < $1 LIMIT 500)",
    },
    ExpiredRows {
        kind: "email_claim",
        retention: TimeDelta::zero(),
        statement: "DELETE FROM email_claims WHERE expires_at <= $1 AND email_lower IN \
            (SELECT email_lower FROM email_claims WHERE expires_at <= $1 LIMIT 500)",
    },
    // Second factors that were never confirmed with a code.
    ExpiredRows {
        kind: "totp_factor",
        retention: TimeDelta::days(1),
        statement: "DELETE FROM totp_factors WHERE confirmed_at IS NULL AND created_at < $1 AND user_id IN \
            (SELECT user_id FROM totp_factors WHERE confirmed_at IS NULL AND created_at < $1 LIMIT 500)",
    },
    // Used codes and devices stay recognisable for a while.
    ExpiredRows {
        kind: "oauth_code",
        retention: TimeDelta::days(1),
        statement: "DELETE FROM oauth_codes WHERE code_hash IN \
            (SELECT code_hash FROM oauth_codes WHERE expires_at < $1 LIMIT 500)",
    },
    ExpiredRows {
        kind: "oauth_device",
        retention: TimeDelta::days(1),
        statement: "DELETE FROM oauth_devices WHERE device_code_hash IN \
            (SELECT device_code_hash FROM oauth_devices WHERE expires_at < $1 LIMIT 500)",
    },
];

/// Deletes a batch of rows and returns their number.
pub(super) fn delete_outlived(
    db: &mut Db,
    expired: ExpiredRows,
    now: NaiveDateTime,
) -> QueryResult<usize> {
    let before = now - expired.retention;
    statement::<()>(expired.statement)
        .bind::<Timestamp, _>(before)
        .execute(db)
}

/// Takes the housekeeping lock until the transaction ends. Returns false if another replica holds it: two replicas
/// that delete the same rows in different orders would deadlock.
pub(super) fn is_ours(db: &mut Db) -> QueryResult<bool> {
    match db {
        Db::Pg(conn) => statement::<Bool>("SELECT pg_try_advisory_xact_lock($1)")
            .bind::<BigInt, _>(LOCK_KEY)
            .get_result(conn),
        // The transaction holds the write lock.
        Db::Sqlite(_) => Ok(true),
    }
}

/// Returns a batch of expired sessions whose end concerns others, with their accounts: SSO sessions and their descendants
/// without valid children, and sessions of clients with a back-channel logout address.
pub(super) fn list_expired(db: &mut Db, now: NaiveDateTime) -> QueryResult<Vec<(String, UserId)>> {
    let below = diesel::alias!(sessions as below);
    let unrevoked = below
        .filter(
            below
                .field(sessions::parent_sid)
                .eq(sessions::id.nullable()),
        )
        .filter(below.field(sessions::revoked_at).is_null());
    let handed_over = sessions::kind.eq(Grant::SSO);
    let told = oauth_clients::table
        .filter(oauth_clients::id.nullable().eq(sessions::client_id))
        .filter(with_logout_uri());
    sessions::table
        .filter(
            handed_over
                .or(sessions::parent_sid.is_not_null())
                .or(exists(told)),
        )
        .filter(sessions::revoked_at.is_null())
        .filter(
            sessions::expires_at
                .le(now)
                .or(sessions::refresh_expires_at.le(now)),
        )
        .filter(not(exists(unrevoked)))
        .order(sessions::user_id)
        .limit(BATCH.into())
        .select((sessions::id, sessions::user_id))
        .load(db)
}

/// Returns a batch of sessions that were revoked, or whose last token expired, long ago.
pub(super) fn list_over_sessions(
    db: &mut Db,
    now: NaiveDateTime,
    ttl: TimeDelta,
) -> QueryResult<Vec<String>> {
    let revoked_before = now - KEPT;
    // An access token from the last refresh may outlive the session itself.
    let over_before = now - KEPT.max(ttl);
    let below = diesel::alias!(sessions as below);
    let parent = below.field(sessions::parent_sid);
    sessions::table
        // A parent row stays while a child refers to it, because ending an ancestor reaches the child through it.
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

/// Deletes sessions by id. A session that has ended cannot become valid again.
pub(super) fn delete_sessions(db: &mut Db, ids: &[String]) -> QueryResult<usize> {
    diesel::delete(sessions::table.filter(sessions::id.eq_any(ids))).execute(db)
}
