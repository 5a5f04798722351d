use std::collections::{HashMap, HashSet};

use auth_types::{AccountRole, PremiumTier, UserId};
use chrono::NaiveDateTime;
use db_kit::{Db, DbBackend};
use diesel::dsl::{count_star, max};
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::model::{AccountChanges, SessionCounts};
use super::wire::SearchQuery;
use crate::accounts::model::AccountRow;
use crate::columns::columns;
use crate::schema::{sessions, totp_factors, users};

diesel::define_sql_function! {
    fn lower(text: Text) -> Text;
}

/// Returns a page of accounts in order of id, with one extra row if there are more.
pub(super) fn search(
    db: &mut Db,
    search: &SearchQuery,
    limit: u16,
    now: NaiveDateTime,
) -> QueryResult<Vec<AccountRow>> {
    let mut query = users::table
        .select(columns::<AccountRow>())
        .order(users::id)
        .limit(i64::from(limit) + 1)
        .into_boxed::<DbBackend>();
    if let Some(after) = search.cursor {
        query = query.filter(users::id.gt(after));
    }
    if let Some(text) = &search.q {
        let pattern = containing(text);
        query = query.filter(
            users::username_lower
                .like(pattern.clone())
                .escape('\\')
                .or(lower(users::email).like(pattern).escape('\\')),
        );
    }
    if let Some(role) = search.role {
        query = query.filter(users::role.eq(role.as_str()));
    }
    if let Some(active) = search.is_active {
        query = query.filter(users::is_active.eq(active));
    }
    let paid = users::premium_tier.eq(PremiumTier::Premium.as_str());
    query = match search.premium_tier {
        Some(PremiumTier::Premium) => query.filter(paid).filter(
            users::premium_expires_at
                .is_null()
                .or(users::premium_expires_at.gt(now).assume_not_null()),
        ),
        Some(PremiumTier::Free) => query.filter(
            users::premium_tier
                .eq(PremiumTier::Free.as_str())
                .or(users::premium_expires_at.le(now).assume_not_null()),
        ),
        None => query,
    };
    query.load(db)
}

/// Returns the LIKE pattern for "contains `text`", with the wildcards in it escaped.
fn containing(text: &str) -> String {
    let mut pattern = String::from("%");
    for character in text.to_lowercase().chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}

/// Returns the sessions and second factors of these accounts.
pub(super) fn sign_ins(
    db: &mut Db,
    ids: &[UserId],
    now: NaiveDateTime,
) -> QueryResult<HashMap<UserId, SessionCounts>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let open: Vec<(UserId, i64)> = sessions::table
        .filter(sessions::user_id.eq_any(&ids))
        .filter(sessions::revoked_at.is_null())
        .filter(sessions::expires_at.gt(now))
        .filter(sessions::refresh_expires_at.gt(now))
        .group_by(sessions::user_id)
        .select((sessions::user_id, count_star()))
        .load(db)?;
    let last: Vec<(UserId, Option<NaiveDateTime>)> = sessions::table
        .filter(sessions::user_id.eq_any(&ids))
        .group_by(sessions::user_id)
        .select((sessions::user_id, max(sessions::created_at)))
        .load(db)?;
    let confirmed: Vec<UserId> = totp_factors::table
        .filter(totp_factors::user_id.eq_any(&ids))
        .filter(totp_factors::confirmed_at.is_not_null())
        .select(totp_factors::user_id)
        .load(db)?;
    let mut all: HashMap<UserId, SessionCounts> = HashMap::new();
    for (id, open) in open {
        all.entry(id).or_default().open = open;
    }
    for (id, last_at) in last {
        all.entry(id).or_default().last_at = last_at;
    }
    for id in confirmed {
        all.entry(id).or_default().totp_enabled = true;
    }
    Ok(all)
}

/// Returns the usernames of those accounts that still exist.
pub(crate) fn names(db: &mut Db, ids: &HashSet<i64>) -> QueryResult<HashMap<i64, String>> {
    let rows: Vec<(i64, String)> = users::table
        .filter(users::id.eq_any(ids.iter().copied().collect::<Vec<_>>()))
        .select((users::id, users::username))
        .load(db)?;
    Ok(rows.into_iter().collect())
}

/// Locks the rows of all SUPERADMIN accounts until the transaction ends. They are locked in one order, so that
/// concurrent transactions cannot deadlock.
pub(super) fn lock_superadmins(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => users::table
            .filter(users::role.eq(AccountRole::Superadmin.as_str()))
            .order(users::id)
            .select(users::id)
            .for_no_key_update()
            .load::<i64>(conn)
            .map(drop),
        // The transaction holds the write lock.
        Db::Sqlite(_) => Ok(()),
    }
}

pub(super) fn update_account(db: &mut Db, id: UserId, changes: &AccountChanges) -> QueryResult<()> {
    diesel::update(users::table.find(id))
        .set(changes)
        .execute(db)
        .map(drop)
}

pub(super) fn set_role(db: &mut Db, id: UserId, role: AccountRole) -> QueryResult<()> {
    diesel::update(users::table.find(id))
        .set(users::role.eq(role.as_str()))
        .execute(db)
        .map(drop)
}
