use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::schema::webhook_deliveries;

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
#[derive(Debug, Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = webhook_deliveries)]
pub(crate) struct Delivery {
    /// The header `webhook-id` of the call.
    #[diesel(column_name = delivery_id)]
    pub(super) id: String,
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
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    created_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    last_attempt_at: Option<DateTime<Utc>>,
    /// When it is tried again.
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    next_attempt_at: Option<DateTime<Utc>>,
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

impl From<Delivery> for DeliveryResponse {
    fn from(delivery: Delivery) -> Self {
        Self {
            success: true,
            delivery,
        }
    }
}
