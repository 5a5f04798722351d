use chrono::{DateTime, NaiveDateTime, Utc};
use db_kit::AsUtc;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::closed_sets::DeliveryState;
use crate::schema::webhook_deliveries;

/// Which deliveries to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeliveryListQuery {
    /// 1 to 200 deliveries; 50 by default.
    pub(super) limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    pub(super) cursor: Option<String>,
}

/// A delivery of an event to a webhook.
#[derive(Debug, Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = webhook_deliveries)]
pub(crate) struct Delivery {
    /// The header `webhook-id` of the request.
    #[diesel(column_name = delivery_id)]
    pub(super) id: String,
    /// The `id` of the event in the body.
    event_id: String,
    event_type: String,
    /// Null for a test.
    session_id: Option<String>,
    /// `pending`, `delivered`, `failed` or `skipped`.
    #[schema(value_type = DeliveryState)]
    state: String,
    /// How often the receiver was called.
    attempts: i64,
    /// The status of the receiver's last response; null without a response.
    status_code: Option<i32>,
    /// Milliseconds that the last attempt waited for the response.
    duration_ms: Option<i64>,
    /// Why it is not delivered.
    reason: Option<String>,
    #[diesel(deserialize_as = AsUtc<NaiveDateTime>)]
    created_at: DateTime<Utc>,
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    last_attempt_at: Option<DateTime<Utc>>,
    /// When the next attempt is due.
    #[diesel(deserialize_as = AsUtc<Option<NaiveDateTime>>)]
    next_attempt_at: Option<DateTime<Utc>>,
}

/// A page of a webhook's deliveries, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveriesResponse {
    pub(super) success: bool,
    pub(super) deliveries: Vec<Delivery>,
    /// Null on the last page.
    pub(super) next_cursor: Option<String>,
}

/// A pending delivery.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryResponse {
    pub(super) success: bool,
    pub(super) delivery: Delivery,
}
