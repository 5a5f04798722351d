use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, statement};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text, Timestamp};

use crate::schema::{recovery_codes, totp_factors};

/// Counts a code as wrong before it is checked, and returns the number of wrong codes in a row. `None` while the account
/// has to wait, or without such a factor: a `confirmed` one, or one that waits for its first code. `now` is in
/// milliseconds since the epoch. The fifth wrong code costs one second, each further one twice as much, up to a day. This
/// one statement decides for all processes.
pub(super) fn record_attempt(
    db: &mut Db,
    user_id: UserId,
    confirmed: bool,
    now: i64,
) -> QueryResult<Option<i64>> {
    statement::<BigInt>(
        "UPDATE totp_factors SET failed_codes = failed_codes + 1, \
         next_code_at_ms = CASE WHEN failed_codes < 4 THEN 0 WHEN failed_codes < 21 \
         THEN $1 + 1000 * (1 << CAST(failed_codes - 4 AS INTEGER)) ELSE $1 + 86400000 END \
         WHERE user_id = $2 AND (confirmed_at IS NOT NULL) = $3 AND next_code_at_ms <= $1 RETURNING failed_codes",
    )
    .bind::<BigInt, _>(now)
    .bind::<BigInt, _>(user_id)
    .bind::<Bool, _>(confirmed)
    .get_result(db)
    .optional()
}

/// Finds when an account's next code may be checked. `None` without such a factor.
pub(super) fn find_next_attempt(
    db: &mut Db,
    user_id: UserId,
    confirmed: bool,
) -> QueryResult<Option<i64>> {
    totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::confirmed_at.is_not_null().eq(confirmed))
        .select(totp_factors::next_code_at_ms)
        .first(db)
        .optional()
}

type NoFailures = (
    diesel::dsl::Eq<totp_factors::failed_codes, i64>,
    diesel::dsl::Eq<totp_factors::next_code_at_ms, i64>,
);

/// Returns the assignments that reset the count of wrong codes.
fn no_failures() -> NoFailures {
    (
        totp_factors::failed_codes.eq(0),
        totp_factors::next_code_at_ms.eq(0),
    )
}

/// Ends the wait of an account after a right code.
pub(super) fn reset_failures(db: &mut Db, user_id: UserId) -> QueryResult<()> {
    diesel::update(totp_factors::table.find(user_id.get()))
        .set(no_failures())
        .execute(db)
        .map(drop)
}

/// Finds the sealed secret of an account's confirmed factor.
pub(super) fn find_confirmed(db: &mut Db, user_id: UserId) -> QueryResult<Option<String>> {
    totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::confirmed_at.is_not_null())
        .select(totp_factors::secret_sealed)
        .first(db)
        .optional()
}

/// Whether an account has a confirmed factor.
pub(crate) fn is_on(db: &mut Db, user_id: UserId) -> QueryResult<bool> {
    Ok(find_confirmed(db, user_id)?.is_some())
}

/// Finds the sealed secret of a factor that waits for its first code.
pub(super) fn find_unconfirmed(db: &mut Db, user_id: UserId) -> QueryResult<Option<String>> {
    totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::confirmed_at.is_null())
        .select(totp_factors::secret_sealed)
        .first(db)
        .optional()
}

/// Stores a secret in place of an unconfirmed one. False if there is a confirmed factor.
pub(super) fn set_up(
    db: &mut Db,
    user_id: UserId,
    sealed: &str,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let set_up = statement::<()>(
        "INSERT INTO totp_factors (user_id, secret_sealed, created_at) VALUES ($1, $2, $3) ON CONFLICT (user_id) DO UPDATE \
         SET secret_sealed = excluded.secret_sealed, created_at = excluded.created_at, failed_codes = 0, \
         next_code_at_ms = 0 WHERE totp_factors.confirmed_at IS NULL",
    )
    .bind::<BigInt, _>(user_id)
    .bind::<Text, _>(sealed)
    .bind::<Timestamp, _>(now);
    let stored = set_up.execute(db)?;
    Ok(stored == 1)
}

/// Confirms the factor with this secret. False if it was replaced, removed or confirmed in the meantime.
pub(super) fn confirm(
    db: &mut Db,
    user_id: UserId,
    sealed: &str,
    step: i64,
    now: NaiveDateTime,
) -> QueryResult<bool> {
    let waiting = totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::secret_sealed.eq(sealed))
        .filter(totp_factors::confirmed_at.is_null());
    diesel::update(waiting)
        .set((
            totp_factors::confirmed_at.eq(now),
            totp_factors::last_step.eq(step),
            no_failures(),
        ))
        .execute(db)
        .map(|confirmed| confirmed == 1)
}

/// Uses up the code of a time step. False if it or a later one was used before. This one statement decides between
/// concurrent uses of the same code.
pub(super) fn take_step(db: &mut Db, user_id: UserId, step: i64) -> QueryResult<bool> {
    let unused = totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::confirmed_at.is_not_null())
        .filter(totp_factors::last_step.lt(step));
    diesel::update(unused)
        .set((totp_factors::last_step.eq(step), no_failures()))
        .execute(db)
        .map(|taken| taken == 1)
}

/// Lists up to 500 sealed secrets of accounts after `after`, by account.
pub(super) fn list_sealed(db: &mut Db, after: i64) -> QueryResult<Vec<(UserId, String)>> {
    totp_factors::table
        .filter(totp_factors::user_id.gt(after))
        .order(totp_factors::user_id)
        .limit(500)
        .select((totp_factors::user_id, totp_factors::secret_sealed))
        .load(db)
}

/// Replaces a sealed secret unless it has changed since, and returns the number of changed rows.
pub(super) fn replace_sealed(
    db: &mut Db,
    user_id: UserId,
    sealed: &str,
    fresh: &str,
) -> QueryResult<usize> {
    let same = totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::secret_sealed.eq(sealed));
    diesel::update(same)
        .set(totp_factors::secret_sealed.eq(fresh))
        .execute(db)
}

/// Deletes a confirmed factor with its recovery codes. False if there is none.
pub(crate) fn remove(db: &mut Db, user_id: UserId) -> QueryResult<bool> {
    let counting = totp_factors::table
        .find(user_id.get())
        .filter(totp_factors::confirmed_at.is_not_null());
    let removed = diesel::delete(counting).execute(db)? == 1;
    if removed {
        replace_codes(db, user_id, &[])?;
    }
    Ok(removed)
}

/// Replaces the recovery codes, possibly by none.
pub(super) fn replace_codes(db: &mut Db, user_id: UserId, hashes: &[String]) -> QueryResult<()> {
    diesel::delete(recovery_codes::table.filter(recovery_codes::user_id.eq(user_id.get())))
        .execute(db)?;
    for hash in hashes {
        diesel::insert_into(recovery_codes::table)
            .values((
                recovery_codes::user_id.eq(user_id.get()),
                recovery_codes::code_hash.eq(hash),
            ))
            .execute(db)?;
    }
    Ok(())
}

/// Uses up a recovery code. False if there is none with this hash.
pub(super) fn take_code(db: &mut Db, user_id: UserId, hash: &str) -> QueryResult<bool> {
    diesel::delete(recovery_codes::table.find((user_id.get(), hash)))
        .execute(db)
        .map(|taken| taken == 1)
}

pub(super) fn count_codes(db: &mut Db, user_id: UserId) -> QueryResult<i64> {
    recovery_codes::table
        .filter(recovery_codes::user_id.eq(user_id.get()))
        .count()
        .get_result(db)
}
