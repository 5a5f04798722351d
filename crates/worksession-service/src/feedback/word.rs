use event_types::{
    ChatTested, Event, EventData, EventError, IntegrationDisabled, NotificationDelivered,
    NotificationFailed, NotificationSkipped, SessionStarted, WebhookAttempted, WebhookDisabled,
};
use uuid::Uuid;

use super::queries::Notification;
use crate::projects::TeamProjectId;

/// What the notifier has to say.
#[derive(Debug, Clone)]
pub(super) enum Word {
    /// A notification is settled.
    Settled(Notification),
    /// A destination refuses us for good.
    Disabled {
        project: TeamProjectId,
        revision: i64,
        reason: String,
    },
    /// A chat was tested.
    Tested(ChatTested),
    /// How a call of a webhook stands.
    Attempted(WebhookAttempted),
    /// A webhook refuses us for good.
    WebhookDisabled(WebhookDisabled),
    /// Of how a session's end was told; the team sees what became of its plan.
    Nothing,
}

impl Word {
    /// Reads a message.
    ///
    /// # Errors
    /// Why it can never be read, for whoever looks at the parked ones.
    pub(super) fn read(body: &[u8]) -> Result<(Uuid, Self), String> {
        let event = Event::decode(body).map_err(|cause| cause.to_string())?;
        let word = match event.event_type.as_str() {
            NotificationDelivered::TYPE => {
                Self::settled(&event, "delivered", |data: NotificationDelivered| {
                    (
                        data.about,
                        data.event_id,
                        data.session_id,
                        data.project_id,
                        None,
                        data.at,
                    )
                })
            }
            NotificationFailed::TYPE => {
                Self::settled(&event, "failed", |data: NotificationFailed| {
                    (
                        data.about,
                        data.event_id,
                        data.session_id,
                        data.project_id,
                        Some(data.reason),
                        data.at,
                    )
                })
            }
            NotificationSkipped::TYPE => {
                Self::settled(&event, "skipped", |data: NotificationSkipped| {
                    (
                        data.about,
                        data.event_id,
                        data.session_id,
                        data.project_id,
                        Some(data.reason),
                        data.at,
                    )
                })
            }
            IntegrationDisabled::TYPE => {
                return Self::disabled(&event).map(|word| (event.id, word));
            }
            ChatTested::TYPE => return Self::tested(&event).map(|word| (event.id, word)),
            WebhookAttempted::TYPE => event.data_as().map(Self::Attempted),
            WebhookDisabled::TYPE => event.data_as().map(Self::WebhookDisabled),
            other => return Err(format!("unknown event type {other}")),
        };
        Ok((event.id, word.map_err(|cause| cause.to_string())?))
    }

    fn settled<T: EventData>(
        event: &Event,
        outcome: &'static str,
        fields: impl FnOnce(
            T,
        ) -> (
            String,
            Uuid,
            Uuid,
            Option<i64>,
            Option<String>,
            chrono::DateTime<chrono::Utc>,
        ),
    ) -> Result<Self, EventError> {
        let (about, event_id, session_id, team_project_id, reason, at) = fields(event.data_as()?);
        if about != SessionStarted::TYPE {
            return Ok(Self::Nothing);
        }
        Ok(Self::Settled(Notification {
            event_id: event_id.to_string(),
            session_id: session_id.to_string(),
            team_project_id,
            outcome,
            reason,
            settled_at: at.naive_utc(),
        }))
    }

    fn tested(event: &Event) -> Result<Self, String> {
        let tested: ChatTested = event
            .data_as()
            .map_err(|cause: EventError| cause.to_string())?;
        if !["delivered", "failed", "skipped"].contains(&tested.outcome.as_str()) {
            return Err(format!("a test ends otherwise than {:?}", tested.outcome));
        }
        Ok(Self::Tested(tested))
    }

    fn disabled(event: &Event) -> Result<Self, String> {
        let data = event
            .data_as::<IntegrationDisabled>()
            .map_err(|cause| cause.to_string())?;
        let project = TeamProjectId::new(data.project_id).ok_or("project_id is no id")?;
        Ok(Self::Disabled {
            project,
            revision: data.revision,
            reason: data.reason,
        })
    }
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

    #[test]
    fn every_word_of_the_notifier_is_understood() {
        let (event_id, session_id, at) =
            (Uuid::from_u128(1), Uuid::from_u128(2), DateTime::UNIX_EPOCH);
        let project_id = Some(7);
        let about = || SessionStarted::TYPE.to_owned();
        let delivered = body(&NotificationDelivered {
            event_id,
            about: about(),
            session_id,
            project_id,
            at,
        });
        let reason = "gone".to_owned();
        let failed = body(&NotificationFailed {
            event_id,
            about: about(),
            session_id,
            project_id,
            at,
            reason: reason.clone(),
        });
        let skipped = body(&NotificationSkipped {
            event_id,
            about: about(),
            session_id,
            project_id: None,
            at,
            reason: reason.clone(),
        });
        for (body, outcome) in [
            (delivered, "delivered"),
            (failed, "failed"),
            (skipped, "skipped"),
        ] {
            let (_, word) = Word::read(body.as_bytes()).expect("reads");
            assert!(
                matches!(&word, Word::Settled(n) if n.outcome == outcome),
                "{word:?}"
            );
        }
        let of_an_end = body(&NotificationDelivered {
            event_id,
            about: "session.submitted.v1".to_owned(),
            session_id,
            project_id,
            at,
        });
        let (_, word) = Word::read(of_an_end.as_bytes()).expect("reads");
        assert!(matches!(word, Word::Nothing), "{word:?}");
        let disabled = body(&IntegrationDisabled {
            project_id: 7,
            revision: 3,
            reason,
        });
        let (_, word) = Word::read(disabled.as_bytes()).expect("reads");
        assert!(
            matches!(&word, Word::Disabled { revision: 3, .. }),
            "{word:?}"
        );
    }

    #[test]
    fn words_about_webhooks_and_tests_of_chats_are_understood() {
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
        let (_, word) = Word::read(body(&attempted).as_bytes()).expect("reads");
        assert!(matches!(&word, Word::Attempted(read) if *read == attempted));
        let disabled = WebhookDisabled {
            webhook_id: 5,
            revision: 2,
            reason: "gone".to_owned(),
        };
        let (_, word) = Word::read(body(&disabled).as_bytes()).expect("reads");
        assert!(matches!(&word, Word::WebhookDisabled(read) if *read == disabled));
        let mut tested = ChatTested {
            test_id: Uuid::from_u128(2),
            project_id: 3,
            outcome: "failed".to_owned(),
            reason: Some("gone".to_owned()),
            at,
        };
        let (_, word) = Word::read(body(&tested).as_bytes()).expect("reads");
        assert!(matches!(&word, Word::Tested(read) if *read == tested));
        tested.outcome = "pending".to_owned();
        assert!(Word::read(body(&tested).as_bytes()).is_err());
    }

    #[test]
    fn what_can_never_be_read_is_told_apart() {
        let foreign = body(&event_types::IntegrationConfigured {
            project_id: 1,
            revision: 1,
            sealed: None,
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
            assert!(Word::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
