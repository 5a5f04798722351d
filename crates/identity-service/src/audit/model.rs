use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::schema::audit_log;

/// A new row of `audit_log`. Absent values are written as NULL, so that one statement inserts many rows on SQLite
/// too.
#[derive(Insertable)]
#[diesel(table_name = audit_log, treat_none_as_default_value = false)]
pub(super) struct NewAuditRow {
    pub(super) at: NaiveDateTime,
    pub(super) action: &'static str,
    pub(super) user_id: Option<i64>,
    pub(super) session_id: Option<String>,
    pub(super) address: Option<String>,
    pub(super) actor_id: Option<i64>,
    pub(super) via: &'static str,
    pub(super) details: Option<String>,
}

#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = audit_log)]
pub(crate) struct AuditRow {
    pub(crate) id: i64,
    pub(crate) at: NaiveDateTime,
    pub(crate) action: String,
    pub(crate) user_id: Option<i64>,
    pub(crate) actor_id: Option<i64>,
    pub(crate) via: String,
    pub(crate) session_id: Option<String>,
    pub(crate) address: Option<String>,
    pub(crate) details: Option<String>,
}
