use auth_types::UserId;
use event_types::Event;
use uuid::Uuid;

use crate::integrations::WebhookId;

/// The state of a delivery that is not settled.
pub(super) const PENDING: &str = "pending";

pub(in crate::webhooks) struct NewWebhookDelivery {
    pub(in crate::webhooks) webhook: WebhookId,
    /// The webhook's current revision.
    pub(in crate::webhooks) revision: i64,
    /// The user whose action the event reports.
    pub(in crate::webhooks) user: UserId,
    /// The session of the event; none for a test.
    pub(in crate::webhooks) session: Option<Uuid>,
    pub(in crate::webhooks) event: Event,
}
