use chrono::NaiveDateTime;
use db_kit::Db;
use diesel::prelude::*;

use super::Entry;
use crate::schema::audit_log;

pub(crate) fn record(db: &mut Db, entry: &Entry, now: NaiveDateTime) -> QueryResult<()> {
    diesel::insert_into(audit_log::table)
        .values((
            audit_log::at.eq(now),
            audit_log::action.eq(entry.action.as_str()),
            audit_log::user_id.eq(entry.user_id.map(auth_types::UserId::get)),
            audit_log::session_id.eq(entry.session_id.as_deref()),
            audit_log::address.eq(entry.address.to_string()),
        ))
        .execute(db)
        .map(drop)
}
