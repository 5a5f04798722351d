use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::{
    ChatTested, EventData, Notification, NotificationDelivered, NotificationFailed,
    NotificationSkipped, NotifiedEvent, SessionAbandoned, SessionStarted, SessionSubmitted,
};

use super::model::Kind;
use crate::SOURCE;
use crate::delivery::{DeliveryRow, FinalState, number};

/// The most notifications in one event.
const NOTICES: usize = 100;

/// Returns the events that report how a project's deliveries ended: one per [`NOTICES`] notifications, and one per test.
pub(super) fn events(
    rows: &[DeliveryRow],
    ending: FinalState,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Vec<NewOutboxRow>> {
    let mut events = Vec::new();
    let mut notices = Vec::new();
    for row in rows {
        let session_id = row.session_id.as_deref().unwrap_or_default();
        let (Ok(event_id), Ok(session_id)) = (row.id.parse(), session_id.parse()) else {
            // Does not happen: the notifier itself stores both as UUIDs.
            continue;
        };
        let notice = match Kind::of(&row.kind) {
            Kind::Plan => NotifiedEvent::of::<SessionStarted>(event_id, session_id),
            Kind::Finished => NotifiedEvent::of::<SessionSubmitted>(event_id, session_id),
            Kind::Abandoned => NotifiedEvent::of::<SessionAbandoned>(event_id, session_id),
            Kind::Test => {
                let tested = ChatTested {
                    test_id: session_id,
                    project_id: number(&row.destination_id),
                    outcome: ending.name().to_owned(),
                    reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
                    at,
                };
                events.push(event(&[row], at, &tested)?);
                continue;
            }
        };
        notices.push((row, notice));
    }
    for some in notices.chunks(NOTICES) {
        events.extend(ended(some, ending, reason, at)?);
    }
    Ok(events)
}

fn ended(
    notices: &[(&DeliveryRow, NotifiedEvent)],
    ending: FinalState,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Option<NewOutboxRow>> {
    let (rows, notices): (Vec<&DeliveryRow>, Vec<NotifiedEvent>) = notices.iter().cloned().unzip();
    let mut also = notices.into_iter();
    let (Some(row), Some(first)) = (rows.first(), also.next()) else {
        return Ok(None);
    };
    let notification = Notification {
        event_id: first.event_id,
        about: first.about,
        session_id: first.session_id,
        project_id: Some(number(&row.destination_id)),
        at,
        also: also.collect(),
    };
    let reason = reason.to_owned();
    match ending {
        FinalState::Delivered => event(&rows, at, &NotificationDelivered { notification }),
        FinalState::Failed => event(
            &rows,
            at,
            &NotificationFailed {
                notification,
                reason,
            },
        ),
        FinalState::Skipped => event(
            &rows,
            at,
            &NotificationSkipped {
                notification,
                reason,
            },
        ),
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
    NewOutboxRow::of(SOURCE, at, request_id, data)
}

#[cfg(test)]
#[path = "feedback_tests.rs"]
mod tests;
