use std::sync::Arc;

use broker::{Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue, Verdict};
use chrono::NaiveDateTime;
use db_kit::{Db, inbox};
use diesel::QueryResult;
use tokio::sync::Notify;
use uuid::Uuid;

use super::change::Change;
use super::queries;
use crate::departures::{self, Departure};
use crate::error::Error;
use crate::state::{AppState, State};
use crate::{contacts, team_projects};

/// The consumer's name in the inbox.
const CONSUMER: &str = "worksession.identity";

/// Starts to listen to the identity area; `eraser` is woken when somebody is gone.
pub(crate) fn spawn(broker: &Broker, state: State, eraser: Arc<Notify>) -> ConsumerHandle {
    broker.consume(
        Queue::WorksessionIdentity,
        // Few at once: they write the same rows, and those who wait hold connections that requests need.
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

async fn hear(state: &AppState, eraser: &Notify, delivery: Delivery) -> Verdict {
    let (id, change) = match Change::read(&delivery.body) {
        Ok(read) => read,
        Err(reason) => return Verdict::Park(reason),
    };
    // First: the requests that come now are to ask again. Forgetting twice is harmless.
    if let Some(user) = change.user() {
        state.identity.forget(user);
    }
    if let Change::User(_) | Change::Member { manages: true, .. } = change {
        return Verdict::Ack;
    }
    match take_in(state, id, change).await {
        Ok(()) => {
            eraser.notify_one();
            Verdict::Ack
        }
        Err(cause) if cause.is_lasting() => Verdict::Park(cause.to_string()),
        Err(cause) => {
            log::warn!("the identity area's event {id} is tried again: {cause}");
            Verdict::Retry
        }
    }
}

async fn take_in(state: &AppState, id: Uuid, change: Change) -> Result<(), Error> {
    let now = state.clock.now_naive();
    let change = move |db: &mut Db| {
        if inbox::record(db, CONSUMER, id, now)? {
            apply(db, &change, now)?;
        }
        Ok(())
    };
    state.pool.write_tx(change).await
}

fn apply(db: &mut Db, change: &Change, now: NaiveDateTime) -> QueryResult<()> {
    match change {
        Change::User(_) | Change::Member { manages: true, .. } => Ok(()),
        Change::Member { user, team, .. } => contacts::forget_manager(db, *user, *team).map(drop),
        Change::UserGone(user) => departures::note(db, Departure::User(*user), now),
        Change::Team { id, name, at, gone } => {
            if !queries::heed(db, *id, *at, *gone)? {
                return Ok(());
            }
            team_projects::queries::rename_team(db, *id, name)?;
            if *gone {
                departures::note(db, Departure::Team(*id), now)?;
            }
            Ok(())
        }
    }
}
