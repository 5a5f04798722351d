use auth_types::UserId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Which entries; everything given must fit.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Id of the account that it happened to.
    #[param(value_type = Option<i64>)]
    pub(crate) user: Option<UserId>,
    /// Id of the account that did it.
    #[param(value_type = Option<i64>)]
    pub(crate) actor: Option<UserId>,
    /// An action such as `session.refused`, or `session` for all of that kind.
    pub(crate) action: Option<String>,
    /// From this moment on.
    pub(crate) since: Option<DateTime<Utc>>,
    /// Before this moment.
    pub(crate) until: Option<DateTime<Utc>>,
    /// The `next_cursor` of the page before.
    pub(crate) cursor: Option<i64>,
    /// 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u16>,
}

/// An account that an entry names.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Person {
    pub(crate) id: i64,
    /// Null when the account is gone.
    pub(crate) username: Option<String>,
}

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    pub(crate) id: i64,
    pub(crate) at: DateTime<Utc>,
    /// Such as `session.opened`.
    pub(crate) action: String,
    /// Whom it happened to; null when that was no account.
    pub(crate) user: Option<Person>,
    /// Who did it; null for who was not signed in, the command line and the service itself.
    pub(crate) actor: Option<Person>,
    /// `http`, `command` or `system`.
    pub(crate) via: String,
    pub(crate) session_id: Option<String>,
    /// Where the request came from.
    pub(crate) address: Option<String>,
    /// What exactly; its fields depend on the action.
    #[schema(value_type = Option<Object>)]
    pub(crate) details: Option<Value>,
}

/// A page of the log, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditList {
    pub(crate) entries: Vec<AuditEntry>,
    /// For the next page; null on the last one.
    pub(crate) next_cursor: Option<i64>,
}
