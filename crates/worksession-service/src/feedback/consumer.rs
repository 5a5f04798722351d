use std::collections::BTreeMap;

use broker::{Acknowledgement, BatchOptions, Broker, ConsumerHandle, Delivery, Queue};
use chrono::{DateTime, Utc};
use db_kit::{Db, inbox};
use uuid::Uuid;

use super::queries::{self, Notification};
use super::word::FeedbackEvent;
use crate::error::{Error, verdict};
use crate::sessions::queries::{DeletionLock, lock_deletion};
use crate::state::{AppState, State};
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
            async move { hear(&state, deliveries).await }
        },
    )
}

async fn hear(state: &State, deliveries: Vec<Delivery>) -> Vec<Acknowledgement> {
    let read: Vec<_> = deliveries
        .iter()
        .map(|delivery| FeedbackEvent::read(&delivery.event()?))
        .collect();
    let words: Vec<_> = read.iter().flatten().cloned().collect();
    let together = match words.len() {
        0 => Ok(()),
        _ => take_in(state, words).await,
    };
    if let Err(cause) = &together {
        log::warn!("feedback events will be retried: {cause}");
    }
    let mut verdicts = Vec::with_capacity(read.len());
    for read in read {
        verdicts.push(match (read, &together) {
            (Err(reason), _) => Acknowledgement::DeadLetter(reason),
            (Ok(_), Ok(())) => Acknowledgement::Ack,
            // A permanent failure of one event must not hold up the others.
            (Ok((id, word)), Err(cause)) if cause.is_lasting() => alone(state, id, word).await,
            (Ok(_), Err(_)) => Acknowledgement::Retry,
        });
    }
    verdicts
}

async fn alone(state: &State, id: Uuid, word: FeedbackEvent) -> Acknowledgement {
    verdict(take_in(state, vec![(id, word)]).await, |cause| {
        log::warn!("the feedback event {id} will be retried: {cause}");
    })
}

async fn take_in(state: &State, words: Vec<(Uuid, FeedbackEvent)>) -> Result<(), Error> {
    let now = state.clock.now();
    let shared = state.clone();
    let switches_off = |(_, word): &(_, FeedbackEvent)| {
        matches!(
            word,
            FeedbackEvent::Disabled { .. } | FeedbackEvent::WebhookDisabled(_)
        )
    };
    let switch_off = words.iter().any(switches_off);
    let change = move |db: &mut Db| {
        // What is recorded about a session exists only as long as it does. This lock comes first, because a transaction that
        // deletes sessions takes it before it locks the same rows.
        lock_deletion(db, DeletionLock::Shared)?;
        let ids = words.iter().map(|(id, _)| *id);
        let mut new = inbox::record_all(db, CONSUMER, ids, now.naive_utc())?;
        let mut settled = BTreeMap::new();
        for (_, word) in words.into_iter().filter(|(id, _)| new.remove(id)) {
            match word {
                FeedbackEvent::Settled(notifications) => {
                    let by_event = |one: Notification| (one.event_id.clone(), one);
                    settled.extend(notifications.into_iter().map(by_event));
                }
                other => note(db, &shared, other, now)?,
            }
        }
        Ok::<_, Error>(queries::record_all(db, settled)?)
    };
    state.pool.write_tx(change).await?;
    if switch_off {
        // The transaction may have requested a mail.
        state.relay.wake();
    }
    Ok(())
}

/// Applies any event except notifications, which arrive in large numbers and are recorded together.
fn note(
    db: &mut Db,
    state: &AppState,
    word: FeedbackEvent,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    match word {
        FeedbackEvent::Settled(_) => {}
        FeedbackEvent::Disabled {
            project,
            revision,
            reason,
        } => {
            chat_settings::switch_off(db, state, project, revision, reason, now)?;
        }
        FeedbackEvent::Tested(tested) => {
            chat_settings::queries::end_test(db, &tested)?;
        }
        FeedbackEvent::Attempted(word) => {
            webhooks::deliveries::queries::note(db, &word)?;
        }
        FeedbackEvent::WebhookDisabled(off) => {
            webhooks::switch_off(db, state, off, now)?;
        }
    }
    Ok(())
}
