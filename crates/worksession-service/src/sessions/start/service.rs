use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use db_kit::outbox::uuid_v7;
use db_kit::{Backend, Db, DbError, is_unique_violation};
use service_kit::Clock;
use service_kit::http::RequestId;

use super::queries::{self, NewSession, Opened, Repeated};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::projects::{self, ProjectSnapshot};
use crate::rules::time::OPEN_AFTER_PLANNED_END;
use crate::sessions::digest::digest;
use crate::sessions::events;
use crate::sessions::model::{SessionRow, Status};
use crate::sessions::wire::Plan;
use crate::state::AppState;

/// The same plan within this is the same start: a double click, a retry without a key.
const SAME_START: TimeDelta = TimeDelta::seconds(10);
/// How long an `Idempotency-Key` is remembered.
const KEY_LIFE: TimeDelta = TimeDelta::hours(24);
/// Of starts of one user that race, one wins each round.
const ROUNDS: usize = 64;

/// A wish to start a timer.
#[derive(Debug)]
pub(in crate::sessions) struct Order {
    pub(in crate::sessions) plan: Plan,
    /// `client_a`, `client_b` or `session`.
    pub(in crate::sessions) client: &'static str,
    pub(in crate::sessions) idempotency_key: Option<String>,
    pub(in crate::sessions) request_id: RequestId,
}

/// Starts the timer, or finds the session that an earlier request for the same started.
///
/// # Errors
/// 403, 404 and 409 of the project, 422 for a key that was used with another plan, 429.
pub(in crate::sessions) async fn start(
    state: &AppState,
    caller: Arc<CurrentUser>,
    order: Order,
) -> Result<Opened, Error> {
    let categories = &state.config.categories;
    if categories.strict && !categories.suggested.0.contains(&order.plan.category) {
        return Err(Error::invalid(format!(
            "category must be one of {}",
            categories.suggested.0.join(", ")
        )));
    }
    let plan_digest = digest(&(
        &order.plan.category,
        order.plan.duration,
        order.plan.project.to_string(),
        &order.plan.note,
    ))?;
    let asked = plan_digest.clone();
    let clock = state.clock.clone();
    let opened = if let Err(refusal) = state.limit_starts(caller.id) {
        let look = move |db: &mut Db| earlier_or(refusal, db, &clock, &caller, &order, asked);
        state.pool.read(look).await?
    } else {
        let work = move |db: &mut Db| open(db, &clock, &caller, &order, asked);
        match state.pool.backend() {
            Backend::Postgres => state.pool.write_one(work).await?,
            Backend::Sqlite => state.pool.write_tx(work).await?,
        }
    };
    if opened.fresh {
        state.wake();
    } else if opened.row.start_digest != plan_digest {
        return Err(Error::IdempotencyKeyReused);
    }
    Ok(opened)
}

fn open(
    db: &mut Db,
    clock: &Clock,
    caller: &CurrentUser,
    order: &Order,
    digest: String,
) -> Result<Opened, Error> {
    let project = match projects::resolve_for_start(db, &order.plan.project, caller) {
        Ok(project) => project,
        Err(refusal @ Error::Db(_)) => return Err(refusal),
        Err(refusal) => return earlier_or(refusal, db, clock, caller, order, digest),
    };
    for _ in 0..ROUNDS {
        let row = planned(clock.now(), caller, order, &project, &digest)?;
        let event = events::started(&row, &order.request_id)?;
        let new = NewSession {
            session_id: row.session_id,
            user_id: row.user_id.get(),
            username: row.username,
            client: row.client,
            category: row.category,
            planned_duration: row.planned_duration,
            planning_note: row.planning_note,
            project_id: row.project_id,
            project_name: row.project_name,
            team_id: row.team_id.map(auth_types::TeamId::get),
            team_name: row.team_name,
            chat: row.chat,
            started_at: row.started_at,
            expected_end_at: row.expected_end_at,
            start_digest: row.start_digest,
            idempotency_key: order.idempotency_key.clone(),
            repeated_after: row.started_at - SAME_START,
            key_after: row.started_at - KEY_LIFE,
            open_after: row.started_at - OPEN_AFTER_PLANNED_END,
            event_id: event.id.to_string(),
            event_exchange: event.exchange.to_owned(),
            event_type: event.routing_key.to_owned(),
            event_body: event.body.clone(),
        };
        match queries::open(db, &new, &event).map_err(DbError::from) {
            Err(cause) if is_unique_violation(&cause, "sessions", &["user_id"]) => {}
            outcome => return Ok(outcome?),
        }
    }
    Err(DbError::Busy.into())
}

/// What a start that is to be refused repeats, since that was let in: looked for only then, so that no other start pays
/// for it.
fn earlier_or(
    refusal: Error,
    db: &mut Db,
    clock: &Clock,
    caller: &CurrentUser,
    order: &Order,
    digest: String,
) -> Result<Opened, Error> {
    let now = clock.now_naive();
    let repeated = Repeated {
        user_id: caller.id.get(),
        start_digest: digest,
        idempotency_key: order.idempotency_key.clone(),
        repeated_after: now - SAME_START,
        key_after: now - KEY_LIFE,
        open_after: now - OPEN_AFTER_PLANNED_END,
    };
    let row = queries::earlier(db, &repeated)?.ok_or(refusal)?;
    Ok(Opened { row, fresh: false })
}

fn planned(
    now: DateTime<Utc>,
    caller: &CurrentUser,
    order: &Order,
    project: &ProjectSnapshot,
    start_digest: &str,
) -> Result<SessionRow, Error> {
    let chat = project
        .chat
        .as_ref()
        .map(serde_json::to_string)
        .transpose()
        .map_err(Error::internal)?;
    let started_at = now.naive_utc();
    Ok(SessionRow {
        session_id: uuid_v7(now).to_string(),
        user_id: caller.id,
        username: caller.username.clone(),
        client: order.client.to_owned(),
        category: order.plan.category.clone(),
        planned_duration: order.plan.duration,
        planning_note: order.plan.note.clone(),
        project_id: project.id.clone(),
        project_name: project.name.clone(),
        team_id: project.team_id,
        team_name: project.team_name.clone(),
        chat,
        status: Status::Running,
        started_at,
        expected_end_at: started_at + TimeDelta::minutes(order.plan.duration.into()),
        ended_at: None,
        // The statement fills in the user's zone.
        zone: String::new(),
        start_digest: start_digest.to_owned(),
        submitted_at: None,
        submit_digest: None,
        submit_result: None,
    })
}
