use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::{
    ChatTested, EventData, NotificationDelivered, NotificationFailed, NotificationSkipped,
    SessionAbandoned, SessionStarted, SessionSubmitted,
};

use super::model::{DeliveryRow, Ending, Kind};
use crate::SOURCE;

/// The event that tells how a delivery ended.
pub(super) fn word(
    row: &DeliveryRow,
    ending: Ending,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Option<NewOutboxRow>> {
    let (Ok(event_id), Ok(session_id)) = (row.event_id.parse(), row.session_id.parse()) else {
        // Never: written by us as ids.
        return Ok(None);
    };
    let about = match Kind::of(&row.kind) {
        Kind::Plan => SessionStarted::TYPE,
        Kind::Finished => SessionSubmitted::TYPE,
        Kind::Abandoned => SessionAbandoned::TYPE,
        Kind::Test => {
            let tested = ChatTested {
                test_id: session_id,
                project_id: row.project_id,
                outcome: ending.name().to_owned(),
                reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
                at,
            };
            return told(row, at, &tested);
        }
    };
    let (about, project_id, reason) = (about.to_owned(), Some(row.project_id), reason.to_owned());
    match ending {
        Ending::Delivered => {
            let event = NotificationDelivered {
                event_id,
                about,
                session_id,
                project_id,
                at,
            };
            told(row, at, &event)
        }
        Ending::Failed => {
            let event = NotificationFailed {
                event_id,
                about,
                session_id,
                project_id,
                at,
                reason,
            };
            told(row, at, &event)
        }
        Ending::Skipped => {
            let event = NotificationSkipped {
                event_id,
                about,
                session_id,
                project_id,
                at,
                reason,
            };
            told(row, at, &event)
        }
    }
}

fn told<T: EventData>(
    row: &DeliveryRow,
    at: DateTime<Utc>,
    event: &T,
) -> QueryResult<Option<NewOutboxRow>> {
    NewOutboxRow::of(SOURCE, at, row.request_id.clone(), event).map(Some)
}
