use auth_types::UserId;
use event_types::Event;
use uuid::Uuid;

use crate::hooks::WebhookId;

/// It is not settled yet.
pub(super) const PENDING: &str = "pending";

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
