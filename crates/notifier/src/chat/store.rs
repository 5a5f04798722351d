use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use uuid::Uuid;

use super::model::Kind;
use super::{ChatMedium, queries};
use crate::config::ChatConfig;
use crate::delivery::{
    DeliveryRow, DeliveryTransaction, FinalState, Medium, NewDelivery, PENDING, Settings,
};

/// How long the result of a test is of interest.
const TEST_EXPIRES_AFTER: Duration = Duration::from_secs(60);

/// How long the end of a session waits for a plan that has not arrived. Events can overtake each other by at most the
/// lease of a crashed relay. An unroutable plan delays it no longer than that.
const PLAN_TIMEOUT: Duration = Duration::from_secs(120);

/// An event for a chat.
#[derive(Clone)]
pub(super) struct ChatEvent {
    /// The id of the event.
    pub(super) id: Uuid,
    pub(super) request_id: Option<String>,
    pub(super) content: ChatEventContent,
}

/// The content of an event.
#[derive(Clone)]
pub(super) enum ChatEventContent {
    /// A notification to send.
    Notification(NewNotification),
    /// The destination of a project.
    Destination(Settings),
}

/// A notification for a team.
#[derive(Clone)]
pub(super) struct NewNotification {
    pub(super) kind: Kind,
    /// For a test, the id of the test.
    pub(super) session_id: Uuid,
    pub(super) project_id: i64,
    /// The chat's revision when the event happened.
    pub(super) revision: i64,
    /// Why nothing is sent; shown to the team.
    pub(super) skipped: Option<&'static str>,
    /// The data of the event.
    pub(super) payload: String,
}

/// Stores events, each of them once. The row of a notification is kept for as long as its event can be redelivered.
/// Of several settings for a destination, the highest revision applies.
pub(super) fn store_events(
    tx: &mut DeliveryTransaction<'_, ChatMedium>,
    events: Vec<ChatEvent>,
) -> QueryResult<()> {
    let (config, at) = (tx.medium.config, tx.at());
    // In the order of their ids, so that two processes with the same events cannot deadlock.
    let by_id = |event: ChatEvent| (event.id, event);
    let events: BTreeMap<Uuid, ChatEvent> = events.into_iter().map(by_id).collect();
    let (mut notifications, mut settings) = (Vec::new(), Vec::new());
    for event in events.into_values() {
        match event.content {
            ChatEventContent::Notification(new) => {
                notifications.push(delivery(event.id, event.request_id, new, at, config));
            }
            ChatEventContent::Destination(destination) => settings.push(destination),
        }
    }
    let new = tx.insert(&notifications)?;
    let configured = settings.iter().map(|settings| settings.id.clone());
    // A skipped plan counts too, because the end of its session may wait for it.
    let is_relevant = |row: &&NewDelivery| row.settled_at.is_none() || row.revision > 0;
    let relevant = notifications.iter().filter(is_relevant);
    let relevant = relevant.map(|row| row.destination_id.clone());
    let give_up_at = notifications.iter().map(|row| row.give_up_at).min();
    let destinations = relevant.chain(configured).collect();
    tx.mark_due(&destinations, give_up_at.unwrap_or(at))?;
    for settings in &settings {
        tx.configure(settings)?;
    }
    notifications.retain(|row| new.contains(&row.id));
    order(tx, &notifications)?;
    report_skipped(tx, notifications)
}

/// Orders the ends of sessions after their plans, whichever arrives first.
fn order(tx: &mut DeliveryTransaction<'_, ChatMedium>, new: &[NewDelivery]) -> QueryResult<()> {
    let at = tx.at();
    let ends = new.iter().filter(|row| Kind::from_name(&row.kind).is_end());
    let ends: Vec<String> = ends.map(|row| row.id.clone()).collect();
    if !ends.is_empty() {
        queries::delay_ends(tx.db, &ends, at + PLAN_TIMEOUT)?;
    }
    let plans = new
        .iter()
        .filter(|row| Kind::from_name(&row.kind) == Kind::Plan);
    let sessions: Vec<String> = plans.filter_map(|row| row.session_id.clone()).collect();
    if sessions.is_empty() {
        return Ok(());
    }
    queries::release_ends(tx.db, &sessions, at)
}

/// Reports the plans for which nothing is sent.
fn report_skipped(
    tx: &mut DeliveryTransaction<'_, ChatMedium>,
    new: Vec<NewDelivery>,
) -> QueryResult<()> {
    let mut skipped: BTreeMap<(String, String), Vec<DeliveryRow>> = BTreeMap::new();
    for row in new {
        if let Some(reason) = row.reason.clone() {
            let key = (row.destination_id.clone(), reason);
            skipped.entry(key).or_default().push(row.into());
        }
    }
    for ((_, reason), rows) in skipped {
        tx.report_ended(&rows, FinalState::Skipped, &reason)?;
    }
    Ok(())
}

/// Creates the row of a notification.
fn delivery(
    id: Uuid,
    request_id: Option<String>,
    notification: NewNotification,
    at: NaiveDateTime,
    config: ChatConfig,
) -> NewDelivery {
    let give_up_after = match notification.kind {
        Kind::Test => TEST_EXPIRES_AFTER,
        Kind::Plan | Kind::Finished | Kind::Abandoned => config.give_up_after(),
    };
    let is_sent = notification.skipped.is_none();
    let (id, project) = (id.to_string(), notification.project_id.to_string());
    NewDelivery {
        kind: notification.kind.name().to_owned(),
        revision: notification.revision,
        session_id: Some(notification.session_id.to_string()),
        request_id,
        payload: Some(notification.payload).filter(|_| is_sent),
        state: if is_sent {
            PENDING
        } else {
            FinalState::Skipped.name()
        },
        reason: notification.skipped.map(str::to_owned),
        settled_at: Some(at).filter(|_| !is_sent),
        ..NewDelivery::new(ChatMedium::NAME, id, project, at, give_up_after)
    }
}
