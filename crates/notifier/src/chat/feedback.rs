use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::{
    ChatTested, EventData, Notification, NotificationDelivered, NotificationFailed,
    NotificationSkipped, NotifiedEvent, SessionAbandoned, SessionStarted, SessionSubmitted,
};

use super::model::Kind;
use crate::SOURCE;
use crate::delivery::{DeliveryRow, FinalState, numeric_id};

/// The most notifications in one event.
const MAX_NOTIFICATIONS: usize = 100;

/// Returns the events about how a project's deliveries ended: one per [`MAX_NOTIFICATIONS`], and one per test.
pub(super) fn events(
    rows: &[DeliveryRow],
    state: FinalState,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Vec<NewOutboxRow>> {
    let mut events = Vec::new();
    let mut notifications = Vec::new();
    for row in rows {
        let session_id = row.session_id.as_deref().unwrap_or_default();
        let (Ok(event_id), Ok(session_id)) = (row.id.parse(), session_id.parse()) else {
            // Does not happen: the notifier itself stores both as UUIDs.
            continue;
        };
        let notification = match Kind::from_name(&row.kind) {
            Kind::Plan => NotifiedEvent::new::<SessionStarted>(event_id, session_id),
            Kind::Finished => NotifiedEvent::new::<SessionSubmitted>(event_id, session_id),
            Kind::Abandoned => NotifiedEvent::new::<SessionAbandoned>(event_id, session_id),
            Kind::Test => {
                let tested = ChatTested {
                    test_id: session_id,
                    project_id: numeric_id(&row.destination_id),
                    outcome: state.name().to_owned(),
                    reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
                    at,
                };
                events.push(event(&[row], at, &tested)?);
                continue;
            }
        };
        notifications.push((row, notification));
    }
    for chunk in notifications.chunks(MAX_NOTIFICATIONS) {
        events.extend(ended_event(chunk, state, reason, at)?);
    }
    Ok(events)
}

fn ended_event(
    reported: &[(&DeliveryRow, NotifiedEvent)],
    state: FinalState,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Option<NewOutboxRow>> {
    let (rows, events): (Vec<&DeliveryRow>, Vec<NotifiedEvent>) = reported.iter().cloned().unzip();
    let mut also = events.into_iter();
    let (Some(row), Some(first)) = (rows.first(), also.next()) else {
        return Ok(None);
    };
    let notification = Notification {
        event_id: first.event_id,
        about: first.about,
        session_id: first.session_id,
        project_id: Some(numeric_id(&row.destination_id)),
        at,
        also: also.collect(),
    };
    let reason = reason.to_owned();
    match state {
        FinalState::Delivered => event(&rows, at, &NotificationDelivered { notification }),
        FinalState::Failed => {
            let failed = NotificationFailed {
                notification,
                reason,
            };
            event(&rows, at, &failed)
        }
        FinalState::Skipped => {
            let skipped = NotificationSkipped {
                notification,
                reason,
            };
            event(&rows, at, &skipped)
        }
    }
    .map(Some)
}

/// An event about several deliveries has no single request id.
fn event<T: EventData>(
    rows: &[&DeliveryRow],
    at: DateTime<Utc>,
    data: &T,
) -> QueryResult<NewOutboxRow> {
    let request_id = match rows {
        [row] => row.request_id.clone(),
        _ => None,
    };
    NewOutboxRow::for_event(SOURCE, at, request_id, data)
}

#[cfg(test)]
#[path = "feedback_tests.rs"]
mod tests;
