use event_types::{
    ChatTested, Event, EventData, EventError, IntegrationDisabled, NotificationDelivered,
    NotificationFailed, NotificationSkipped, NotifiedEvent, SessionStarted, WebhookAttempted,
    WebhookDisabled,
};
use uuid::Uuid;

use super::queries::Notification;
use crate::projects::TeamProjectId;

/// A feedback event of the notifier.
#[derive(Debug, Clone)]
pub(super) enum FeedbackEvent {
    /// The outcomes of notifications about plans.
    Notifications(Vec<Notification>),
    /// A chat permanently rejects messages.
    ChatDisabled {
        project: TeamProjectId,
        revision: i64,
        reason: String,
    },
    ChatTested(ChatTested),
    /// A webhook delivery has a new state.
    WebhookAttempted(WebhookAttempted),
    /// A webhook permanently rejects calls.
    WebhookDisabled(WebhookDisabled),
}

impl FeedbackEvent {
    /// Decodes an event.
    ///
    /// # Errors
    /// Why the event can never be decoded. The reason is shown with the dead letter.
    pub(super) fn decode(event: &Event) -> Result<(Uuid, Self), String> {
        let decoded = match event.event_type.as_str() {
            NotificationDelivered::TYPE => event.data_as().map(|data: NotificationDelivered| {
                select_plans(data.notification, "delivered", None)
            }),
            NotificationFailed::TYPE => event.data_as().map(|data: NotificationFailed| {
                select_plans(data.notification, "failed", Some(data.reason))
            }),
            NotificationSkipped::TYPE => event.data_as().map(|data: NotificationSkipped| {
                select_plans(data.notification, "skipped", Some(data.reason))
            }),
            IntegrationDisabled::TYPE => {
                return Self::decode_disabled(event).map(|decoded| (event.id, decoded));
            }
            ChatTested::TYPE => return Self::decode_test(event).map(|decoded| (event.id, decoded)),
            WebhookAttempted::TYPE => event.data_as().map(Self::WebhookAttempted),
            WebhookDisabled::TYPE => event.data_as().map(Self::WebhookDisabled),
            other => return Err(format!("unknown event type {other}")),
        };
        Ok((event.id, decoded.map_err(|cause| cause.to_string())?))
    }

    fn decode_test(event: &Event) -> Result<Self, String> {
        let tested: ChatTested = event
            .data_as()
            .map_err(|cause: EventError| cause.to_string())?;
        if !["delivered", "failed", "skipped"].contains(&tested.outcome.as_str()) {
            return Err(format!("unknown outcome of a test: {:?}", tested.outcome));
        }
        Ok(Self::ChatTested(tested))
    }

    fn decode_disabled(event: &Event) -> Result<Self, String> {
        let data = event
            .data_as::<IntegrationDisabled>()
            .map_err(|cause| cause.to_string())?;
        let project = TeamProjectId::new(data.project_id).ok_or("project_id is not an id")?;
        Ok(Self::ChatDisabled {
            project,
            revision: data.revision,
            reason: data.reason,
        })
    }
}

/// Selects the outcomes of plan notifications, because the team's list shows no others.
fn select_plans(
    notification: event_types::Notification,
    outcome: &'static str,
    reason: Option<String>,
) -> FeedbackEvent {
    let (team_project_id, at) = (notification.project_id, notification.at);
    let plans = notification
        .events()
        .filter(|event| event.about == SessionStarted::TYPE);
    let outcome_of = |event: NotifiedEvent| Notification {
        event_id: event.event_id.to_string(),
        session_id: event.session_id.to_string(),
        team_project_id,
        outcome,
        reason: reason.clone(),
        settled_at: at.naive_utc(),
    };
    FeedbackEvent::Notifications(plans.map(outcome_of).collect())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn body<T: EventData>(data: &T) -> String {
        let event = Event::new(Uuid::nil(), "notifier", DateTime::UNIX_EPOCH, None, data)
            .expect("serialises");
        event.encode().expect("short")
    }

    fn read(body: &[u8]) -> Result<(Uuid, FeedbackEvent), String> {
        let event = Event::decode(body).map_err(|cause| cause.to_string())?;
        FeedbackEvent::decode(&event)
    }

    #[test]
    fn every_feedback_event_decodes() {
        let (event_id, session_id, at) =
            (Uuid::from_u128(1), Uuid::from_u128(2), DateTime::UNIX_EPOCH);
        let (about, project_id) = (SessionStarted::TYPE.to_owned(), Some(7));
        let notified = |event_id: u128, about: &str| NotifiedEvent {
            event_id: Uuid::from_u128(event_id),
            about: about.to_owned(),
            session_id,
        };
        let notification = |also| event_types::Notification {
            event_id,
            about: about.clone(),
            session_id,
            project_id,
            at,
            also,
        };
        let reason = "gone".to_owned();
        let delivered = body(&NotificationDelivered {
            notification: notification(vec![
                notified(2, "session.submitted.v1"),
                notified(3, SessionStarted::TYPE),
            ]),
        });
        let failed = body(&NotificationFailed {
            notification: notification(Vec::new()),
            reason: reason.clone(),
        });
        let skipped = body(&NotificationSkipped {
            notification: notification(Vec::new()),
            reason: reason.clone(),
        });
        for (body, outcome, plans) in [
            (delivered, "delivered", 2),
            (failed, "failed", 1),
            (skipped, "skipped", 1),
        ] {
            let (_, event) = read(body.as_bytes()).expect("reads");
            let FeedbackEvent::Notifications(notifications) = &event else {
                panic!("{event:?}")
            };
            assert_eq!(notifications.len(), plans);
            assert!(notifications.iter().all(|plan| plan.outcome == outcome));
        }
        let disabled = body(&IntegrationDisabled {
            project_id: 7,
            revision: 3,
            reason,
        });
        let (_, event) = read(disabled.as_bytes()).expect("reads");
        assert!(
            matches!(&event, FeedbackEvent::ChatDisabled { revision: 3, .. }),
            "{event:?}"
        );
    }

    #[test]
    fn feedback_about_webhooks_and_chat_tests_decodes() {
        let at = DateTime::UNIX_EPOCH;
        let attempted = WebhookAttempted {
            webhook_id: 5,
            delivery_id: Uuid::from_u128(1),
            step: 2,
            outcome: event_types::WebhookOutcome::Failed,
            attempts: 2,
            status_code: Some(500),
            duration_ms: Some(4),
            reason: Some("gone".to_owned()),
            next_attempt_at: None,
            at,
        };
        let (_, event) = read(body(&attempted).as_bytes()).expect("reads");
        assert!(matches!(&event, FeedbackEvent::WebhookAttempted(read) if *read == attempted));
        let disabled = WebhookDisabled {
            webhook_id: 5,
            revision: 2,
            reason: "gone".to_owned(),
        };
        let (_, event) = read(body(&disabled).as_bytes()).expect("reads");
        assert!(matches!(&event, FeedbackEvent::WebhookDisabled(read) if *read == disabled));
        let mut tested = ChatTested {
            test_id: Uuid::from_u128(2),
            project_id: 3,
            outcome: "failed".to_owned(),
            reason: Some("gone".to_owned()),
            at,
        };
        let (_, event) = read(body(&tested).as_bytes()).expect("reads");
        assert!(matches!(&event, FeedbackEvent::ChatTested(read) if *read == tested));
        tested.outcome = "pending".to_owned();
        assert!(read(body(&tested).as_bytes()).is_err());
    }

    #[test]
    fn an_unreadable_feedback_event_is_refused() {
        let foreign = body(&event_types::IntegrationConfigured {
            project_id: 1,
            revision: 1,
            sealed: None,
            paused: false,
        });
        let no_project = body(&IntegrationDisabled {
            project_id: 0,
            revision: 1,
            reason: String::new(),
        });
        let other_version =
            foreign.replace("integration.configured.v1", "notification.delivered.v2");
        for text in [
            foreign.as_str(),
            &no_project,
            &other_version,
            "",
            "{}",
            "[]",
            "\u{0}",
        ] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
