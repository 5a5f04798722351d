//! The events that the work-session service publishes about webhooks, and those that it gets back.

use event_types::{
    Event, EventData, WebhookAttempted, WebhookConfigured, WebhookDisabled, WebhookDue,
    WebhookOutcome, WebhookReplayed, WebhookSecret, WebhookTarget,
};
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::ChatMessage;
use uuid::Uuid;

use crate::kit::{KEY, Stage, data};

pub(crate) const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLLSw";

pub(crate) fn secret(text: &str) -> WebhookSecret {
    WebhookSecret {
        secret: text.to_owned(),
        until: None,
    }
}

fn configured(webhook_id: i64, revision: i64, target: Option<&WebhookTarget>) -> WebhookConfigured {
    let sealer = SealingKeys::new(&KEY, [])
        .sealer(Purpose::Webhooks)
        .unwrap();
    let context = WebhookConfigured::seal_context(webhook_id, revision);
    let seal = |target| {
        let plain = serde_json::to_vec(target).unwrap();
        sealer.seal(&context, &plain).unwrap()
    };
    WebhookConfigured {
        webhook_id,
        revision,
        sealed: target.map(seal),
        paused: false,
    }
}

impl Stage {
    /// Configures a webhook that calls the hook `name` of the stage, signed with [`SECRET`].
    pub(crate) async fn webhook(&self, id: i64, revision: i64, name: &str) {
        self.webhook_with(id, revision, name, vec![secret(SECRET)])
            .await;
    }

    pub(crate) async fn webhook_with(
        &self,
        id: i64,
        revision: i64,
        name: &str,
        secrets: Vec<WebhookSecret>,
    ) {
        let target = WebhookTarget {
            url: self.chat.hook(name),
            secrets,
        };
        self.publish_event(&configured(id, revision, Some(&target)))
            .await;
    }

    pub(crate) async fn webhook_at(&self, id: i64, revision: i64, url: &str) {
        let target = WebhookTarget {
            url: url.to_owned(),
            secrets: vec![secret(SECRET)],
        };
        self.publish_event(&configured(id, revision, Some(&target)))
            .await;
    }

    /// Removes a webhook.
    pub(crate) async fn remove_webhook(&self, id: i64, revision: i64) {
        self.publish_event(&configured(id, revision, None)).await;
    }

    pub(crate) async fn pause_webhook(&self, id: i64, revision: i64) {
        let paused = WebhookConfigured {
            paused: true,
            ..configured(id, revision, None)
        };
        self.publish_event(&paused).await;
    }

    /// Requests a webhook call about a session of user 7; returns the delivery's id and the event.
    pub(crate) async fn request_call(&self, webhook_id: i64, revision: i64) -> (Uuid, Event) {
        let started = self.started(3, None, "private words");
        let event = Event::new(Uuid::now_v7(), "test", self.clock.now(), None, &started).unwrap();
        let due = WebhookDue {
            webhook_id,
            revision,
            delivery_id: Uuid::now_v7(),
            user_id: "7".parse().unwrap(),
            event: event.clone(),
        };
        self.publish_event(&due).await;
        (due.delivery_id, event)
    }

    pub(crate) async fn replay(&self, webhook_id: i64, delivery_id: Uuid) {
        let replayed = WebhookReplayed {
            webhook_id,
            delivery_id,
        };
        self.publish_event(&replayed).await;
    }

    /// Waits for the report of this step of a delivery.
    pub(crate) async fn wait_for_attempt(&self, call: Uuid, step: i64) -> WebhookAttempted {
        let id = call.to_string();
        let (_, data) = self
            .wait_for_feedback(move |event| {
                event.event_type == WebhookAttempted::TYPE
                    && data(event)["delivery_id"] == id.as_str()
                    && data(event)["step"] == step
            })
            .await;
        serde_json::from_value(data).unwrap()
    }

    /// Waits for the report of a delivery's first attempt, which must have this outcome.
    pub(crate) async fn wait_for_outcome(
        &self,
        call: Uuid,
        outcome: WebhookOutcome,
    ) -> WebhookAttempted {
        let attempt = self.wait_for_attempt(call, 1).await;
        assert_eq!(attempt.outcome, outcome, "{attempt:?}");
        attempt
    }

    pub(crate) async fn wait_for_disabled(&self, webhook_id: i64) -> WebhookDisabled {
        let (_, data) = self
            .wait_for_feedback(move |event| {
                event.event_type == WebhookDisabled::TYPE && data(event)["webhook_id"] == webhook_id
            })
            .await;
        serde_json::from_value(data).unwrap()
    }
}

/// Returns the time at which a call says that it was signed.
pub(crate) fn signed_at(message: &ChatMessage) -> i64 {
    message.header("webhook-timestamp").parse().unwrap()
}
