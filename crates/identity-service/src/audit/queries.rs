use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, DbBackend, on_backend};
use diesel::dsl::exists;
use diesel::prelude::*;

use super::model::{AuditRow, NewAuditRow};
use super::wire::AuditQuery;
use super::{AuditAction, NewAuditEntry};
use crate::columns::columns;
use crate::request_context::RequestContext;
use crate::schema::audit_log;

/// The number of rows in one statement. SQLite accepts 32,766 values.
const BATCH: usize = 1_000;

pub(crate) fn record(
    db: &mut Db,
    entries: &[NewAuditEntry],
    context: &RequestContext,
    now: NaiveDateTime,
) -> QueryResult<()> {
    let address = context.address_text();
    let row = |entry: &NewAuditEntry| NewAuditRow {
        at: now,
        action: entry.action.as_str(),
        user_id: entry.user_id.map(UserId::get),
        session_id: entry.session_id.clone(),
        address: address.clone(),
        actor_id: context.actor.map(UserId::get),
        via: context.channel.as_str(),
        details: entry.details.as_ref().map(ToString::to_string),
    };
    let rows: Vec<_> = entries.iter().map(row).collect();
    rows.chunks(BATCH).try_for_each(|rows| {
        on_backend!(db, c => diesel::insert_into(audit_log::table).values(rows).execute(c))
            .map(drop)
    })
}

/// Returns entries, newest first, with one extra row if there are more.
pub(super) fn list(db: &mut Db, filter: &AuditQuery, limit: u16) -> QueryResult<Vec<AuditRow>> {
    let mut query = audit_log::table
        .select(columns::<AuditRow>())
        .order(audit_log::id.desc())
        .limit(i64::from(limit) + 1)
        .into_boxed::<DbBackend>();
    if let Some(before) = filter.cursor {
        query = query.filter(audit_log::id.lt(before));
    }
    if let Some(user) = filter.user {
        query = query.filter(audit_log::user_id.eq(user.get()));
    }
    if let Some(actor) = filter.actor {
        query = query.filter(audit_log::actor_id.eq(actor.get()));
    }
    if let Some(action) = &filter.action {
        let group = format!("{}.%", action.replace('_', "\\_"));
        query = query.filter(
            audit_log::action
                .eq(action.clone())
                .or(audit_log::action.like(group).escape('\\')),
        );
    }
    if let Some(since) = filter.since {
        query = query.filter(audit_log::at.ge(since.naive_utc()));
    }
    if let Some(until) = filter.until {
        query = query.filter(audit_log::at.lt(until.naive_utc()));
    }
    query.load(db)
}

/// Whether anybody has ever signed in to an account.
pub(crate) fn has_signed_in(db: &mut Db, user_id: UserId) -> QueryResult<bool> {
    let sign_ins = [AuditAction::REGISTERED, AuditAction::SIGNED_IN].map(AuditAction::as_str);
    let entry = audit_log::table
        .filter(audit_log::user_id.eq(user_id.get()))
        .filter(audit_log::action.eq_any(sign_ins));
    diesel::select(exists(entry)).get_result(db)
}
