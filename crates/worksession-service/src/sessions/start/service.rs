use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use db_kit::outbox::uuid_v7;
use db_kit::{Db, DbError, Pool};
use service_kit::http::RequestId;

use super::queries::{self, StartAttempt, StartBatcher, StartedSession};
use crate::app_state::AppState;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::projects::{self, ProjectRef, ProjectSnapshot};
use crate::rules::credit::OPEN_AFTER_PLANNED_END;
use crate::sessions::events;
use crate::sessions::model::{SessionRow, SessionStatus};
use crate::sessions::request_digest::compute_digest;
use crate::sessions::wire::SessionPlan;
use crate::sync;

/// Within this time the same plan is the same start: a double click, or a retry without a key.
const SAME_START: TimeDelta = TimeDelta::seconds(10);
/// How long an `Idempotency-Key` counts.
const KEY_LIFETIME: TimeDelta = TimeDelta::hours(24);

/// A request to start a timer.
#[derive(Debug)]
pub(in crate::sessions) struct StartOrder {
    pub(in crate::sessions) plan: SessionPlan,
    /// `client_a`, `client_b` or `session`.
    pub(in crate::sessions) client: &'static str,
    pub(in crate::sessions) idempotency_key: Option<String>,
    pub(in crate::sessions) request_id: RequestId,
}

/// Starts the timer, or returns the session that an earlier, equal request started.
///
/// # Errors
/// 400 for a category outside a strict list. 403, 404 and 409 for the project. 422 for a key of another plan. 429 for
/// too many starts.
pub(in crate::sessions) async fn start(
    state: &AppState,
    caller: Arc<CurrentUser>,
    order: StartOrder,
) -> Result<StartedSession, Error> {
    let categories = &state.config.categories;
    if categories.strict && !categories.suggested.0.contains(&order.plan.category) {
        return Err(Error::invalid(format!(
            "category must be one of {}",
            categories.suggested.0.join(", ")
        )));
    }
    let digest = compute_digest(&(
        &order.plan.category,
        order.plan.duration,
        order.plan.project.to_string(),
        &order.plan.note,
    ))?;
    let start = Arc::new(StartOperation {
        caller,
        order,
        digest,
    });
    let may_start = state.limit_starts(start.caller.id);
    let project = match may_start {
        Ok(()) => start.load_project(state).await,
        Err(error) => Err(error),
    };
    let started = match project {
        Ok(project) => start.execute(state, project).await?,
        Err(Error::Db(error)) => return Err(Error::Db(error)),
        Err(error) => start.find_repeat_or(state, error).await?,
    };
    if started.is_new {
        state.wake();
    } else if started.row.start_digest != start.digest {
        return Err(Error::IdempotencyKeyReused);
    }
    Ok(started)
}

/// Creates the coalescer of starts, which batches different users on PostgreSQL.
pub(crate) fn new_batcher(pool: &Pool) -> StartBatcher {
    pool.batch_writes(
        |db, attempts| Ok(queries::start_many(db, attempts)?),
        |attempt| attempt.session.user_id.get(),
    )
}

/// A caller's request, and the digest that identifies a repetition.
struct StartOperation {
    caller: Arc<CurrentUser>,
    order: StartOrder,
    digest: String,
}

impl StartOperation {
    /// Returns the project of the plan if the caller may work on it.
    async fn load_project(&self, state: &AppState) -> Result<ProjectSnapshot, Error> {
        let (project, caller) = (self.order.plan.project, Arc::clone(&self.caller));
        if project == ProjectRef::None {
            return Ok(ProjectSnapshot::none());
        }
        let find = move |db: &mut Db| projects::resolve_for_start(db, &project, &caller);
        state.pool.read(find).await
    }

    async fn execute(
        self: &Arc<Self>,
        state: &AppState,
        project: ProjectSnapshot,
    ) -> Result<StartedSession, Error> {
        let attempt = self.build_attempt(state.clock.now(), &project)?;
        if let Some(started) = state.starts.run(attempt).await? {
            return Ok(started);
        }
        // Another transaction holds the user's lock, or this is the user's first start and there is no row to lock yet.
        // Waiting outside the batch does not delay other starts.
        let (start, clock) = (Arc::clone(self), state.clock.clone());
        let wait_and_start = move |db: &mut Db| {
            sync::bump(db, start.caller.id)?;
            let attempt = start.build_attempt(clock.now(), &project)?;
            let started = queries::start_many(db, &[attempt])?.pop().flatten();
            started.ok_or_else(|| DbError::Busy.into())
        };
        state.pool.write_tx(wait_and_start).await
    }

    fn build_attempt(
        &self,
        now: DateTime<Utc>,
        project: &ProjectSnapshot,
    ) -> Result<StartAttempt, Error> {
        let session = self.to_row(now, project)?;
        let started_at = session.started_at;
        Ok(StartAttempt {
            event: events::build_started(&session, &self.order.request_id)?,
            session,
            idempotency_key: self.order.idempotency_key.clone(),
            repeated_after: started_at - SAME_START,
            key_after: started_at - KEY_LIFETIME,
            open_after: started_at - OPEN_AFTER_PLANNED_END,
        })
    }

    fn to_row(&self, now: DateTime<Utc>, project: &ProjectSnapshot) -> Result<SessionRow, Error> {
        let (caller, plan) = (&self.caller, &self.order.plan);
        let chat = project.chat.as_ref().map(serde_json::to_string);
        let started_at = now.naive_utc();
        Ok(SessionRow {
            session_id: uuid_v7(now).to_string(),
            user_id: caller.id,
            username: caller.username.clone(),
            client: self.order.client.to_owned(),
            category: plan.category.clone(),
            planned_duration: plan.duration,
            planning_note: plan.note.clone(),
            project_id: project.id.clone(),
            project_name: project.name.clone(),
            team_id: project.team_id,
            team_name: project.team_name.clone(),
            chat: chat.transpose().map_err(Error::internal)?,
            status: SessionStatus::Running,
            started_at,
            expected_end_at: started_at + TimeDelta::minutes(plan.duration.into()),
            ended_at: None,
            // The statement fills in the user's zone. On SQLite the row that is returned stays without it.
            zone: String::new(),
            start_digest: self.digest.clone(),
            submitted_at: None,
            submit_digest: None,
            submit_result: None,
        })
    }

    /// Returns the session that a refused start repeats, since that one was accepted. Only refused starts pay for this
    /// query.
    async fn find_repeat_or(
        &self,
        state: &AppState,
        error: Error,
    ) -> Result<StartedSession, Error> {
        let attempt = self.build_attempt(state.clock.now(), &ProjectSnapshot::none())?;
        let find = move |db: &mut Db| queries::find_repeat(db, &attempt).map_err(DbError::from);
        let row = state.pool.read(find).await?.ok_or(error)?;
        Ok(StartedSession { row, is_new: false })
    }
}
