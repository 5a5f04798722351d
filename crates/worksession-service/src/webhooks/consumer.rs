//! Consumes the service's own session events, each once, and requests a delivery for each subscribed webhook.

use std::collections::{BTreeSet, HashSet};

use auth_types::{TeamId, UserId};
use broker::{Acknowledgement, BatchOptions, Broker, ConsumerHandle, Delivery, Queue};
use chrono::{DateTime, Utc};
use db_kit::outbox::OutboxRow;
use db_kit::{Db, DbError, inbox};
use event_types::{Event, SessionProject, SessionUser};
use futures_util::StreamExt;
use serde::Deserialize;
use uuid::Uuid;

use super::deliveries::{self, NewWebhookDelivery};
use super::model::EVENTS;
use super::queries;
use crate::app_state::{AppState, State};
use crate::error::{Error, acknowledge};
use crate::sessions;

/// The consumer's name in the inbox.
const CONSUMER: &str = "worksession.webhooks";

/// The prefix of all session event types, including those of newer versions.
const SESSION: &str = "session.";

/// Events that are handled in parallel. Few, because requests come first at the database.
const AT_ONCE: usize = 4;

/// The data that all session events have.
#[derive(Debug, Deserialize)]
struct SessionSubject {
    session_id: Uuid,
    user: SessionUser,
    project: SessionProject,
}

impl SessionSubject {
    fn owners(&self) -> (UserId, Option<TeamId>) {
        (self.user.id, self.project.team_id)
    }
}

/// An event of which only the data is read.
#[derive(Deserialize)]
struct SessionEnvelope {
    data: SessionSubject,
}

/// Returns the ids of those outbox rows that a webhook subscribes to; only they enter this service's queue. Unreadable
/// rows are among them, to become dead letters.
pub(crate) fn list_subscribed(db: &mut Db, rows: &[OutboxRow]) -> Result<HashSet<String>, DbError> {
    let sessions = rows
        .iter()
        .filter(|row| row.routing_key.starts_with(SESSION));
    let subjects = sessions.map(|row| {
        let envelope = serde_json::from_str::<SessionEnvelope>(&row.body);
        (&row.id, envelope.map(|envelope| envelope.data))
    });
    let subjects: Vec<_> = subjects.collect();
    if subjects.is_empty() {
        return Ok(HashSet::new());
    }
    let valid = subjects.iter().filter_map(|(_, data)| data.as_ref().ok());
    let owners: Vec<_> = valid.map(SessionSubject::owners).collect();
    let index = queries::load_index(db, &owners)?;
    let is_subscribed = |subject: SessionSubject| index.has_subscriber(subject.owners());
    let subscribed = subjects
        .into_iter()
        .filter_map(|(id, subject)| subject.map_or(true, is_subscribed).then(|| id.clone()));
    Ok(subscribed.collect())
}

/// Starts to consume those of the service's own session events that a webhook subscribes to.
pub(crate) fn spawn(broker: &Broker, state: State) -> ConsumerHandle {
    broker.consume_batches(
        Queue::WorksessionWebhooks,
        BatchOptions::default(),
        move |deliveries| {
            let state = state.clone();
            async move { consume_batch(&state, deliveries).await }
        },
    )
}

/// Handles a batch with one read of all subscriptions. A webhook may have been deleted meanwhile.
async fn consume_batch(state: &AppState, deliveries: Vec<Delivery>) -> Vec<Acknowledgement> {
    let decoded: Vec<_> = deliveries
        .iter()
        .map(|delivery| decode(delivery.event()?))
        .collect();
    let readable = decoded.iter().flatten();
    let owners: Vec<_> = readable.map(|(_, subject)| subject.owners()).collect();
    let index = state.read(move |db| queries::load_index(db, &owners)).await;
    let index = match index {
        Ok(index) => index,
        Err(cause) => {
            log::warn!("{} webhook events will be retried: {cause}", decoded.len());
            let without_index = |item: Result<_, String>| {
                item.err()
                    .map_or(Acknowledgement::Retry, Acknowledgement::DeadLetter)
            };
            return decoded.into_iter().map(without_index).collect();
        }
    };
    let acknowledgements = decoded.into_iter().map(|decoded| async {
        match decoded {
            Err(reason) => Acknowledgement::DeadLetter(reason),
            Ok((_, subject)) if !index.has_subscriber(subject.owners()) => Acknowledgement::Ack,
            Ok((event, subject)) => consume_one(state, event, subject).await,
        }
    });
    futures_util::stream::iter(acknowledgements)
        .buffered(AT_ONCE)
        .collect()
        .await
}

async fn consume_one(state: &AppState, event: Event, subject: SessionSubject) -> Acknowledgement {
    let id = event.id;
    // An event that would make a delivery too long, for example, becomes a dead letter and delays no other.
    acknowledge(store(state, event, subject).await, |cause| {
        log::warn!("the webhook event {id} will be retried: {cause}");
    })
}

fn decode(event: Event) -> Result<(Event, SessionSubject), String> {
    if !EVENTS.contains(&event.event_type.as_str()) {
        return Err(format!("unknown event type {}", event.event_type));
    }
    let subject = event.data.read().map_err(|cause| cause.to_string())?;
    Ok((event, subject))
}

async fn store(state: &AppState, event: Event, subject: SessionSubject) -> Result<(), Error> {
    let now = state.clock.now();
    let record = move |db: &mut Db| {
        let session = subject.session_id.to_string();
        // A session that was deleted with its user is delivered to nobody.
        let existing = sessions::queries::lock_existing(db, &BTreeSet::from([session.as_str()]))?;
        if inbox::record(db, CONSUMER, event.id, now.naive_utc())? && !existing.is_empty() {
            enqueue_deliveries(db, &event, &subject, now)?;
        }
        Ok::<_, Error>(())
    };
    state.pool.write_tx(record).await?;
    state.relay.wake();
    Ok(())
}

/// Requests a delivery to each webhook that subscribes to the event.
fn enqueue_deliveries(
    db: &mut Db,
    event: &Event,
    subject: &SessionSubject,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let mut subscribers = queries::subscribers(db, subject.owners())?;
    subscribers.retain(|subscriber| subscriber.is_subscribed_to(&event.event_type));
    for subscriber in subscribers {
        let delivery = NewWebhookDelivery {
            webhook: subscriber.id,
            revision: subscriber.revision,
            user: subject.user.id,
            session: Some(subject.session_id),
            event: event.clone(),
        };
        deliveries::enqueue(db, delivery, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use diesel::connection::SimpleConnection;
    use test_kit::TestDb;

    use super::*;

    #[tokio::test]
    async fn only_events_with_a_subscriber_or_unreadable_ones_are_selected() {
        let db = TestDb::fresh("list_subscribed", crate::MIGRATIONS).await;
        let pool = db.pool(2);
        let row = |id: &str, key: &str, user: i64, team: Option<i64>| {
            OutboxRow {
            id: id.to_owned(),
            exchange: "work.events".to_owned(),
            routing_key: key.to_owned(),
            body: serde_json::json!({
                "id": id,
                "data": {
                    "session_id": "01945b7a-0000-7000-8000-000000000002",
                    "user": {"id": user, "username": "x"},
                    "project": {"id": "p", "name": "", "type": "team", "team_id": team, "team_name": null},
                },
            })
            .to_string(),
            reclaimed: false,
        }
        };
        let mut unreadable = row("unreadable", "session.started.v1", 9, None);
        unreadable.body.truncate(9);
        let rows = [
            row("own", "session.started.v1", 7, None),
            row("own, of a team", "session.submitted.v1", 7, Some(4)),
            row("of the team", "session.abandoned.v1", 9, Some(3)),
            row("of another team", "session.started.v1", 9, Some(4)),
            row("disabled", "session.started.v1", 8, None),
            row("nobody's", "session.started.v1", 9, None),
            row("of a newer version", "session.paused.v1", 7, None),
            row("no session", "mail.requested.v1", 7, Some(3)),
            unreadable,
        ];
        let webhooks = "INSERT INTO webhooks (user_id, team_id, slot, description, origin, events, revision, status, \
             created_at, updated_at, secret_changed_at) SELECT owner, team, 1, '', '', '', 1, status, now, now, now \
             FROM (SELECT 7 AS owner, CAST(NULL AS BIGINT) AS team, 'active' AS status UNION ALL SELECT NULL, 3, 'active' \
             UNION ALL SELECT 8, NULL, 'off') AS owners, (SELECT CURRENT_TIMESTAMP AS now) AS times";
        let selected = pool.read_blocking::<_, DbError>(|db| {
            db.batch_execute(webhooks)?;
            list_subscribed(db, &rows)
        });
        let mut selected: Vec<String> = selected.unwrap().into_iter().collect();
        selected.sort();
        assert_eq!(
            selected,
            [
                "of a newer version",
                "of the team",
                "own",
                "own, of a team",
                "unreadable"
            ]
        );
    }

    #[test]
    fn an_unreadable_event_or_one_of_another_version_is_rejected_with_a_reason() {
        let event = |event_type: &str, data: &str| {
            format!(
                r#"{{"specversion":"1.0","id":"01945b7a-0000-7000-8000-000000000001","source":"s","type":"{event_type}",
                "subject":"x","time":"2026-11-21T12:00:00Z","datacontenttype":"application/json","data":{data}}}"#
            )
        };
        for (body, reason) in [
            (event("session.started.v2", "{}"), "session.started.v2"),
            (event("session.started.v1", "{}"), "session_id"),
            (String::new(), "decode"),
        ] {
            let event = Event::decode(body.as_bytes()).map_err(|cause| cause.to_string());
            let refused = event.and_then(decode).err().unwrap_or_default();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
