use std::collections::BTreeMap;

use broker::{Acknowledgement, BatchOptions, Broker, ConsumerHandle, Delivery, Queue};
use chrono::{DateTime, Utc};
use db_kit::{Db, inbox};
use uuid::Uuid;

use super::event::FeedbackEvent;
use super::queries::{self, Notification};
use crate::app_state::{AppState, State};
use crate::error::{Error, acknowledge};
use crate::sessions::queries::{DeletionLock, lock_deletion};
use crate::{chat_settings, webhooks};

/// The consumer's name in the inbox.
const CONSUMER: &str = "worksession.feedback";

/// Events consumed in one transaction. Each can report a hundred notifications, and starts wait for the same database.
const AT_ONCE: u16 = 20;

/// Starts the consumer of the notifier's feedback.
pub(crate) fn spawn(broker: &Broker, state: State) -> ConsumerHandle {
    broker.consume_batches(
        Queue::WorksessionFeedback,
        BatchOptions { most: AT_ONCE },
        move |deliveries| {
            let state = state.clone();
            async move { consume_batch(&state, deliveries).await }
        },
    )
}

async fn consume_batch(state: &State, deliveries: Vec<Delivery>) -> Vec<Acknowledgement> {
    let decoded: Vec<_> = deliveries
        .iter()
        .map(|delivery| FeedbackEvent::decode(&delivery.event()?))
        .collect();
    let events: Vec<_> = decoded.iter().flatten().cloned().collect();
    let stored = match events.len() {
        0 => Ok(()),
        _ => store(state, events).await,
    };
    if let Err(cause) = &stored {
        log::warn!("feedback events will be retried: {cause}");
    }
    let mut acknowledgements = Vec::with_capacity(decoded.len());
    for decoded in decoded {
        acknowledgements.push(match (decoded, &stored) {
            (Err(reason), _) => Acknowledgement::DeadLetter(reason),
            (Ok(_), Ok(())) => Acknowledgement::Ack,
            // A permanent failure of one event must not delay the others.
            (Ok(event), Err(cause)) if cause.is_lasting() => consume_one(state, event).await,
            (Ok(_), Err(_)) => Acknowledgement::Retry,
        });
    }
    acknowledgements
}

async fn consume_one(state: &State, (id, event): (Uuid, FeedbackEvent)) -> Acknowledgement {
    acknowledge(store(state, vec![(id, event)]).await, |cause| {
        log::warn!("the feedback event {id} will be retried: {cause}");
    })
}

async fn store(state: &State, events: Vec<(Uuid, FeedbackEvent)>) -> Result<(), Error> {
    let now = state.clock.now();
    let shared = state.clone();
    let disables = |(_, event): &(_, FeedbackEvent)| {
        matches!(
            event,
            FeedbackEvent::ChatDisabled { .. } | FeedbackEvent::WebhookDisabled(_)
        )
    };
    let is_disabled = events.iter().any(disables);
    let change = move |db: &mut Db| {
        // What is recorded about a session exists only as long as it does. This lock comes first, because a transaction that
        // deletes sessions takes it before it locks the same rows.
        lock_deletion(db, DeletionLock::Shared)?;
        let ids = events.iter().map(|(id, _)| *id);
        let mut new = inbox::record_all(db, CONSUMER, ids, now.naive_utc())?;
        let mut outcomes = BTreeMap::new();
        for (_, event) in events.into_iter().filter(|(id, _)| new.remove(id)) {
            match event {
                FeedbackEvent::Notifications(notifications) => {
                    let by_event = |one: Notification| (one.event_id.clone(), one);
                    outcomes.extend(notifications.into_iter().map(by_event));
                }
                other => apply(db, &shared, other, now)?,
            }
        }
        Ok::<_, Error>(queries::record_all(db, outcomes)?)
    };
    state.pool.write_tx(change).await?;
    if is_disabled {
        // The transaction may have requested a mail.
        state.relay.wake();
    }
    Ok(())
}

/// Applies any event except notifications, which arrive in large numbers and are recorded together.
fn apply(
    db: &mut Db,
    state: &AppState,
    event: FeedbackEvent,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    match event {
        FeedbackEvent::Notifications(_) => {}
        FeedbackEvent::ChatDisabled {
            project,
            revision,
            reason,
        } => {
            chat_settings::disable(db, state, project, revision, reason, now)?;
        }
        FeedbackEvent::ChatTested(tested) => {
            chat_settings::queries::record_test_outcome(db, &tested)?;
        }
        FeedbackEvent::WebhookAttempted(attempted) => {
            webhooks::deliveries::queries::record_attempt(db, &attempted)?;
        }
        FeedbackEvent::WebhookDisabled(disabled) => {
            webhooks::disable(db, state, disabled, now)?;
        }
    }
    Ok(())
}
