use event_types::{
    Event, EventData, EventError, IntegrationDisabled, NotificationDelivered, NotificationFailed,
    NotificationSkipped,
};
use uuid::Uuid;

use super::queries::Notification;
use crate::projects::TeamProjectId;

/// What the notifier has to say.
#[derive(Debug)]
pub(super) enum Word {
    /// A notification is settled.
    Settled(Notification),
    /// A destination refuses us for good.
    Disabled {
        project: TeamProjectId,
        revision: i64,
        reason: String,
    },
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
            Uuid,
            Uuid,
            Option<i64>,
            Option<String>,
            chrono::DateTime<chrono::Utc>,
        ),
    ) -> Result<Self, EventError> {
        let (event_id, session_id, team_project_id, reason, at) = fields(event.data_as()?);
        Ok(Self::Settled(Notification {
            event_id: event_id.to_string(),
            session_id: session_id.to_string(),
            team_project_id,
            outcome,
            reason,
            settled_at: at.naive_utc(),
        }))
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
        let delivered = body(&NotificationDelivered {
            event_id,
            session_id,
            project_id,
            at,
        });
        let reason = "gone".to_owned();
        let failed = body(&NotificationFailed {
            event_id,
            session_id,
            project_id,
            at,
            reason: reason.clone(),
        });
        let skipped = body(&NotificationSkipped {
            event_id,
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
