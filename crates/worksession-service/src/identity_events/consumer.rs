use std::sync::Arc;

use auth_types::TeamRole;
use broker::{Acknowledgement, Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue};
use chrono::NaiveDateTime;
use db_kit::{Db, inbox};
use diesel::QueryResult;
use tokio::sync::Notify;
use uuid::Uuid;

use super::event::IdentityEvent;
use super::queries;
use crate::app_state::{AppState, State};
use crate::erasure::{self, Erasure};
use crate::error::Error;
use crate::integrations::{self, LostAccess, Recipients, contacts};
use crate::team_projects;

/// The consumer's name in the inbox.
const CONSUMER: &str = "worksession.identity";

/// Starts the consumer of identity events. `eraser` is woken after each applied change.
pub(crate) fn spawn(broker: &Broker, state: State, eraser: Arc<Notify>) -> ConsumerHandle {
    broker.consume(
        Queue::WorksessionIdentity,
        // Concurrency is low: the events write the same rows, and a waiting one holds a connection that requests need.
        ConsumeOptions {
            concurrency: 2,
            ..ConsumeOptions::default()
        },
        move |delivery| {
            let (state, eraser) = (state.clone(), Arc::clone(&eraser));
            async move { consume(&state, &eraser, delivery).await }
        },
    )
}

async fn consume(state: &State, eraser: &Notify, delivery: Delivery) -> Acknowledgement {
    let event = delivery.event();
    let (id, change) = match event.and_then(|event| IdentityEvent::decode(&event)) {
        Ok(decoded) => decoded,
        Err(reason) => return Acknowledgement::DeadLetter(reason),
    };
    // This comes first, so that requests are validated again from now on. A redelivery is harmless.
    if let Some(user) = change.user() {
        state.identity.invalidate_user(user);
    }
    if let IdentityEvent::User(_) | IdentityEvent::Member { manages: true, .. } = change {
        return Acknowledgement::Ack;
    }
    let acknowledgement = verify_and_store(state, eraser, id, change).await;
    acknowledgement.unwrap_or_else(|cause| {
        log::warn!("the identity event {id} will be retried: {cause}");
        Acknowledgement::Retry
    })
}

/// Applies a change that the identity service confirms. An error is transient.
async fn verify_and_store(
    state: &State,
    eraser: &Notify,
    id: Uuid,
    change: IdentityEvent,
) -> Result<Acknowledgement, String> {
    match check_event(state, &change).await? {
        EventCheck::Confirmed => {}
        EventCheck::Stale => return Ok(Acknowledgement::Ack),
        EventCheck::Forged => {
            return Ok(Acknowledgement::DeadLetter(format!(
                "forged: {change:?}, but the identity service reports that it still exists"
            )));
        }
    }
    let lost = change.lost_access();
    let recipients = match &lost {
        None => Recipients::new(),
        Some(lost) => integrations::load_recipients(state, lost).await?,
    };
    // Most sign-outs pause no integration, and should not fill the inbox.
    if recipients.is_empty() && matches!(change, IdentityEvent::LostAccess(_)) {
        return Ok(Acknowledgement::Ack);
    }
    match store(state, id, change, lost, recipients).await {
        Ok(()) => {
            state.relay.wake();
            eraser.notify_one();
            Ok(Acknowledgement::Ack)
        }
        Err(cause) if cause.is_lasting() => Ok(Acknowledgement::DeadLetter(cause.to_string())),
        Err(cause) => Err(cause.to_string()),
    }
}

/// The result of checking an event at the identity service.
enum EventCheck {
    Confirmed,
    /// The event is outdated, because events have no order.
    Stale,
    /// The event was never true: deleted accounts and teams do not come back.
    Forged,
}

/// Checks a change that removes something at the identity service.
async fn check_event(state: &AppState, change: &IdentityEvent) -> Result<EventCheck, String> {
    let Some(question) = change.existence_question() else {
        return Ok(EventCheck::Confirmed);
    };
    let (identity, sealer) = (&state.identity, &state.sealers.questions);
    let answer = identity.check_existence(sealer, &question).await?;
    Ok(match change {
        IdentityEvent::Member { .. } if answer.role >= Some(TeamRole::Admin) => EventCheck::Stale,
        IdentityEvent::UserDeleted(_) | IdentityEvent::Team { .. } if answer.exists => {
            EventCheck::Forged
        }
        _ => EventCheck::Confirmed,
    })
}

async fn store(
    state: &State,
    id: Uuid,
    change: IdentityEvent,
    lost: Option<LostAccess>,
    recipients: Recipients,
) -> Result<(), Error> {
    let (shared, now) = (state.clone(), state.clock.now());
    let change = move |db: &mut Db| {
        if inbox::record(db, CONSUMER, id, now.naive_utc())? {
            if let Some(lost) = lost {
                integrations::pause(db, &shared, &lost, &recipients, now)?;
            }
            apply(db, &change, now.naive_utc())?;
        }
        Ok(())
    };
    state.pool.write_tx(change).await
}

fn apply(db: &mut Db, change: &IdentityEvent, now: NaiveDateTime) -> QueryResult<()> {
    match change {
        IdentityEvent::User(_)
        | IdentityEvent::LostAccess(_)
        | IdentityEvent::Member { manages: true, .. } => Ok(()),
        IdentityEvent::Member { user, team, .. } => {
            contacts::delete_for_manager(db, *user, *team).map(drop)
        }
        IdentityEvent::UserDeleted(user) => erasure::record(db, Erasure::User(*user), now),
        IdentityEvent::Team {
            id,
            name,
            at,
            deleted,
        } => {
            if !queries::record_team(db, *id, *at, *deleted)? {
                return Ok(());
            }
            team_projects::queries::rename_team(db, *id, name)?;
            if *deleted {
                erasure::record(db, Erasure::Team(*id), now)?;
            }
            Ok(())
        }
    }
}
