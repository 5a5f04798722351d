use chrono::{DateTime, Utc};
use db_kit::outbox::NewOutboxRow;
use diesel::QueryResult;
use event_types::{
    ChatTested, EventData, Notice, NotificationDelivered, NotificationFailed, NotificationSkipped,
    SessionAbandoned, SessionStarted, SessionSubmitted,
};

use super::model::{DeliveryRow, Ending, Kind};
use crate::SOURCE;

/// The most notices that one event tells of.
const NOTICES: usize = 100;

/// The events that tell how deliveries of one project ended: one of all of them, and one of each test.
pub(super) fn words(
    rows: &[&DeliveryRow],
    ending: Ending,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Vec<NewOutboxRow>> {
    let mut words = Vec::new();
    let mut notices = Vec::new();
    for row in rows {
        let (Ok(event_id), Ok(session_id)) = (row.event_id.parse(), row.session_id.parse()) else {
            // Never: written by us as ids.
            continue;
        };
        let notice = match Kind::of(&row.kind) {
            Kind::Plan => Notice::of::<SessionStarted>(event_id, session_id),
            Kind::Finished => Notice::of::<SessionSubmitted>(event_id, session_id),
            Kind::Abandoned => Notice::of::<SessionAbandoned>(event_id, session_id),
            Kind::Test => {
                let tested = ChatTested {
                    test_id: session_id,
                    project_id: row.project_id,
                    outcome: ending.name().to_owned(),
                    reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
                    at,
                };
                words.push(told(&[row], at, &tested)?);
                continue;
            }
        };
        notices.push((*row, notice));
    }
    for some in notices.chunks(NOTICES) {
        words.extend(ended(some, ending, reason, at)?);
    }
    Ok(words)
}

fn ended(
    notices: &[(&DeliveryRow, Notice)],
    ending: Ending,
    reason: &str,
    at: DateTime<Utc>,
) -> QueryResult<Option<NewOutboxRow>> {
    let (rows, notices): (Vec<&DeliveryRow>, Vec<Notice>) = notices.iter().cloned().unzip();
    let mut also = notices.into_iter();
    let (Some(row), Some(first)) = (rows.first(), also.next()) else {
        return Ok(None);
    };
    let Notice {
        event_id,
        about,
        session_id,
    } = first;
    let (project_id, also, reason) = (Some(row.project_id), also.collect(), reason.to_owned());
    match ending {
        Ending::Delivered => {
            let event = NotificationDelivered {
                event_id,
                about,
                session_id,
                project_id,
                at,
                also,
            };
            told(&rows, at, &event)
        }
        Ending::Failed => {
            let event = NotificationFailed {
                event_id,
                about,
                session_id,
                project_id,
                at,
                also,
                reason,
            };
            told(&rows, at, &event)
        }
        Ending::Skipped => {
            let event = NotificationSkipped {
                event_id,
                about,
                session_id,
                project_id,
                at,
                also,
                reason,
            };
            told(&rows, at, &event)
        }
    }
    .map(Some)
}

/// An event of several has no one request that led to it.
fn told<T: EventData>(
    rows: &[&DeliveryRow],
    at: DateTime<Utc>,
    event: &T,
) -> QueryResult<NewOutboxRow> {
    let request_id = match rows {
        [row] => row.request_id.clone(),
        _ => None,
    };
    NewOutboxRow::of(SOURCE, at, request_id, event)
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
