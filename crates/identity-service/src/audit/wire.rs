use auth_types::UserId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::closed_sets::AuditSource;

/// Filters for audit entries; an entry must match all of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// The id of the account that was affected.
    #[param(value_type = Option<i64>)]
    pub(crate) user: Option<UserId>,
    /// The id of the account that acted.
    #[param(value_type = Option<i64>)]
    pub(crate) actor: Option<UserId>,
    /// An action such as `session.refused`, or its first part, such as `session`, for all that share it.
    pub(crate) action: Option<String>,
    /// The earliest time, inclusive.
    pub(crate) since: Option<DateTime<Utc>>,
    /// The latest time, exclusive.
    pub(crate) until: Option<DateTime<Utc>>,
    /// The `next_cursor` of the previous page.
    pub(crate) cursor: Option<i64>,
    /// 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u16>,
}

/// An account in an audit entry.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Person {
    pub(crate) id: i64,
    /// Null if the account has been deleted.
    pub(crate) username: Option<String>,
}

/// An audit entry.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    pub(crate) id: i64,
    pub(crate) at: DateTime<Utc>,
    /// For example `session.opened`.
    pub(crate) action: String,
    /// The affected account; null if the entry concerns no account.
    pub(crate) user: Option<Person>,
    /// The acting account; null for callers without a sign-in, the command line and the service itself.
    pub(crate) actor: Option<Person>,
    /// `http`, `command` or `system`.
    #[schema(value_type = AuditSource)]
    pub(crate) via: String,
    pub(crate) session_id: Option<String>,
    /// The network address of the request.
    pub(crate) address: Option<String>,
    /// Details, whose fields depend on the action.
    #[schema(value_type = Option<Object>)]
    pub(crate) details: Option<Value>,
}

/// A page of the audit log, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditList {
    pub(crate) entries: Vec<AuditEntry>,
    /// The cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<i64>,
}
