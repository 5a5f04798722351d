use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use uuid::Uuid;

use super::model::Kind;
use super::{Chats, queries};
use crate::config::ChatConfig;
use crate::delivery::{DeliveryRow, Ending, Medium, NewDelivery, PENDING, Settings, Transitions};

/// After this nobody waits for a test any more.
const TEST_GIVEN_UP_AFTER: Duration = Duration::from_secs(60);

/// How long the end of a session waits for a plan that is not here: events pass each other on their way, by
/// the lease of a relay that died at most. A plan that was set aside is not waited for longer.
const PLAN_MAY_BE_LATE: Duration = Duration::from_secs(120);

/// An event that a chat has to do with.
#[derive(Clone)]
pub(super) struct Arrival {
    /// The event's.
    pub(super) id: Uuid,
    pub(super) request_id: Option<String>,
    pub(super) content: Content,
}

/// What an event asks of the notifier.
#[derive(Clone)]
pub(super) enum Content {
    /// Something to be told.
    Notice(Notice),
    /// Where a project's chat is.
    Destination(Settings),
}

/// What a team is to be told.
#[derive(Clone)]
pub(super) struct Notice {
    pub(super) kind: Kind,
    /// Of a test its own id.
    pub(super) session_id: Uuid,
    pub(super) project_id: i64,
    /// The chat's revision when it happened.
    pub(super) revision: i64,
    /// Why nobody is told; the team sees that.
    pub(super) skipped: Option<&'static str>,
    /// The event's data.
    pub(super) payload: String,
}

/// Stores what came, each event once however often it comes: a notice's row stays as long as any event may come again,
/// and of what is said of a destination the newest holds.
pub(super) fn take_in(
    transitions: &mut Transitions<'_, Chats>,
    arrivals: Vec<Arrival>,
) -> QueryResult<()> {
    let (config, at) = (transitions.medium.config, transitions.at());
    // In the order of their ids: two processes that take the same events in then wait for each other, no more.
    let by_id = |arrival: Arrival| (arrival.id, arrival);
    let arrivals: BTreeMap<Uuid, Arrival> = arrivals.into_iter().map(by_id).collect();
    let (mut notices, mut settings) = (Vec::new(), Vec::new());
    for arrival in arrivals.into_values() {
        match arrival.content {
            Content::Notice(notice) => {
                notices.push(delivery(arrival.id, arrival.request_id, notice, at, config));
            }
            Content::Destination(destination) => settings.push(destination),
        }
    }
    let new = transitions.insert(&notices)?;
    let configured = settings.iter().map(|settings| settings.id.clone());
    // A plan that is skipped counts too: its end may be waiting for it.
    let looks = |row: &&NewDelivery| row.settled_at.is_none() || row.revision > 0;
    let told = notices.iter().filter(looks);
    let told = told.map(|row| row.destination_id.clone());
    let give_up_at = notices.iter().map(|row| row.give_up_at).min();
    transitions.expect(&told.chain(configured).collect(), give_up_at.unwrap_or(at))?;
    for settings in &settings {
        transitions.configure(settings)?;
    }
    notices.retain(|row| new.contains(&row.id));
    order(transitions, &notices)?;
    report_skipped(transitions, notices)
}

/// Has ends told behind their plans, in whatever order they came.
fn order(transitions: &mut Transitions<'_, Chats>, new: &[NewDelivery]) -> QueryResult<()> {
    let at = transitions.at();
    let ends = new.iter().filter(|row| Kind::of(&row.kind).is_end());
    let ends: Vec<String> = ends.map(|row| row.id.clone()).collect();
    if !ends.is_empty() {
        queries::hold_ends(transitions.db, &ends, at + PLAN_MAY_BE_LATE)?;
    }
    let plans = new.iter().filter(|row| Kind::of(&row.kind) == Kind::Plan);
    let sessions: Vec<String> = plans.filter_map(|row| row.session_id.clone()).collect();
    if sessions.is_empty() {
        return Ok(());
    }
    queries::release_ends(transitions.db, &sessions, at)
}

/// Tells of the plans that nobody is told.
fn report_skipped(
    transitions: &mut Transitions<'_, Chats>,
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
        transitions.report_ended(&rows, Ending::Skipped, &reason)?;
    }
    Ok(())
}

/// The row of a notice.
fn delivery(
    id: Uuid,
    request_id: Option<String>,
    notice: Notice,
    at: NaiveDateTime,
    config: ChatConfig,
) -> NewDelivery {
    let give_up_after = match notice.kind {
        Kind::Test => TEST_GIVEN_UP_AFTER,
        Kind::Plan | Kind::Finished | Kind::Abandoned => config.give_up_after(),
    };
    let is_told = notice.skipped.is_none();
    let (id, project) = (id.to_string(), notice.project_id.to_string());
    NewDelivery {
        kind: notice.kind.name().to_owned(),
        revision: notice.revision,
        session_id: Some(notice.session_id.to_string()),
        request_id,
        payload: Some(notice.payload).filter(|_| is_told),
        state: if is_told {
            PENDING
        } else {
            Ending::Skipped.name()
        },
        reason: notice.skipped.map(str::to_owned),
        settled_at: Some(at).filter(|_| !is_told),
        ..NewDelivery::new(Chats::NAME, id, project, at, give_up_after)
    }
}
