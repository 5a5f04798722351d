use auth_types::UserId;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use event_types::Event;
use uuid::Uuid;

use crate::hooks::WebhookId;

/// It is not settled yet.
pub(super) const PENDING: &str = "pending";

/// A call that is to be made.
pub(in crate::webhooks) struct NewCall {
    pub(in crate::webhooks) webhook: WebhookId,
    /// The webhook's.
    pub(in crate::webhooks) revision: i64,
    /// Whose doing the event tells of.
    pub(in crate::webhooks) user: UserId,
    /// What it tells of, unless it is a test.
    pub(in crate::webhooks) session: Option<Uuid>,
    /// What is told.
    pub(in crate::webhooks) event: Event,
}

/// A call as stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = crate::schema::webhook_deliveries)]
pub(super) struct DeliveryRow {
    pub(super) delivery_id: String,
    pub(super) event_id: String,
    pub(super) event_type: String,
    pub(super) session_id: Option<String>,
    pub(super) state: String,
    pub(super) attempts: i64,
    pub(super) status_code: Option<i32>,
    pub(super) duration_ms: Option<i64>,
    pub(super) reason: Option<String>,
    pub(super) created_at: NaiveDateTime,
    pub(super) last_attempt_at: Option<NaiveDateTime>,
    pub(super) next_attempt_at: Option<NaiveDateTime>,
}
