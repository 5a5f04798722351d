use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::model::DeliveryRow;

/// Which calls are listed.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LogQuery {
    /// 1 to 200; 50 when not given.
    pub(super) limit: Option<i64>,
    /// `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
}

/// A call of a webhook.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Delivery {
    /// The header `webhook-id` of the call.
    id: String,
    /// The event that is told; its `id` in the body.
    event_id: String,
    event_type: String,
    /// Null for a test.
    session_id: Option<String>,
    /// `pending`, `delivered`, `failed` or `skipped`.
    state: String,
    /// How often the receiver was called.
    attempts: i64,
    /// What the receiver answered last; null when it gave no answer.
    status_code: Option<i32>,
    /// How long that took.
    duration_ms: Option<i64>,
    /// Why it is not delivered.
    reason: Option<String>,
    created_at: DateTime<Utc>,
    last_attempt_at: Option<DateTime<Utc>>,
    /// When it is tried again.
    next_attempt_at: Option<DateTime<Utc>>,
}

impl From<DeliveryRow> for Delivery {
    fn from(row: DeliveryRow) -> Self {
        Self {
            id: row.delivery_id,
            event_id: row.event_id,
            event_type: row.event_type,
            session_id: row.session_id,
            state: row.state,
            attempts: row.attempts,
            status_code: row.status_code,
            duration_ms: row.duration_ms,
            reason: row.reason,
            created_at: row.created_at.and_utc(),
            last_attempt_at: row.last_attempt_at.map(|at| at.and_utc()),
            next_attempt_at: row.next_attempt_at.map(|at| at.and_utc()),
        }
    }
}

/// A page of a webhook's calls, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveriesResponse {
    pub(super) success: bool,
    pub(super) deliveries: Vec<Delivery>,
    /// Null on the last page.
    pub(super) next_cursor: Option<String>,
}

/// A call that waits to be made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryResponse {
    success: bool,
    delivery: Delivery,
}

impl From<DeliveryRow> for DeliveryResponse {
    fn from(row: DeliveryRow) -> Self {
        Self {
            success: true,
            delivery: row.into(),
        }
    }
}
