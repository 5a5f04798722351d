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
use crate::departures::{self, Erasure};
use crate::error::Error;
use crate::hooks::{self, LostAccess, Recipients, contacts};
use crate::state::{AppState, State};
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
            async move { hear(&state, &eraser, delivery).await }
        },
    )
}

async fn hear(state: &State, eraser: &Notify, delivery: Delivery) -> Acknowledgement {
    let event = delivery.event();
    let (id, change) = match event.and_then(|event| IdentityEvent::read(&event)) {
        Ok(read) => read,
        Err(reason) => return Acknowledgement::DeadLetter(reason),
    };
    // This comes first, so that requests are validated again from now on. A repetition is harmless.
    if let Some(user) = change.user() {
        state.identity.forget(user);
    }
    if let IdentityEvent::User(_) | IdentityEvent::Member { manages: true, .. } = change {
        return Acknowledgement::Ack;
    }
    let considered = verify_and_store(state, eraser, id, change).await;
    considered.unwrap_or_else(|cause| {
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
    match judge(state, &change).await? {
        EventCheck::True => {}
        EventCheck::Old => return Ok(Acknowledgement::Ack),
        EventCheck::Forged => {
            return Ok(Acknowledgement::DeadLetter(format!(
                "forged: {change:?}, but the identity service reports that it still exists"
            )));
        }
    }
    let lost = change.lost_access();
    let recipients = match &lost {
        None => Recipients::new(),
        Some(lost) => hooks::recipients(state, lost).await?,
    };
    // Most sign-outs pause no integration, and should not fill the inbox.
    if recipients.is_empty() && matches!(change, IdentityEvent::LostAccess(_)) {
        return Ok(Acknowledgement::Ack);
    }
    match take_in(state, id, change, lost, recipients).await {
        Ok(()) => {
            state.relay.wake();
            eraser.notify_one();
            Ok(Acknowledgement::Ack)
        }
        Err(cause) if cause.is_lasting() => Ok(Acknowledgement::DeadLetter(cause.to_string())),
        Err(cause) => Err(cause.to_string()),
    }
}

/// What the identity service says about an event.
enum EventCheck {
    True,
    /// The event is outdated, because events have no order.
    Old,
    /// The event was never true: deleted accounts and teams do not come back.
    Forged,
}

/// Asks the identity service before a change removes something.
async fn judge(state: &AppState, change: &IdentityEvent) -> Result<EventCheck, String> {
    let Some(question) = change.question() else {
        return Ok(EventCheck::True);
    };
    let identity = &state.identity;
    let asked = identity.existence(&state.sealers.questions, &question);
    let answer = asked.await?;
    Ok(match change {
        IdentityEvent::Member { .. } if answer.role >= Some(TeamRole::Admin) => EventCheck::Old,
        IdentityEvent::UserGone(_) | IdentityEvent::Team { .. } if answer.exists => {
            EventCheck::Forged
        }
        _ => EventCheck::True,
    })
}

async fn take_in(
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
                hooks::pause(db, &shared, &lost, &recipients, now)?;
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
            contacts::forget_manager(db, *user, *team).map(drop)
        }
        IdentityEvent::UserGone(user) => departures::note(db, Erasure::User(*user), now),
        IdentityEvent::Team { id, name, at, gone } => {
            if !queries::heed(db, *id, *at, *gone)? {
                return Ok(());
            }
            team_projects::queries::rename_team(db, *id, name)?;
            if *gone {
                departures::note(db, Erasure::Team(*id), now)?;
            }
            Ok(())
        }
    }
}
