use std::sync::Arc;
use std::time::Duration;

use broker::RelayHandle;
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use event_types::IntegrationConfigured;
use service_kit::Clock;
use uuid::Uuid;

use super::model::{Answer, DeliveryRow, Ending, Job, NewDelivery, PENDING};
use super::moves::{Moves, NO_CHAT, Tally};
use super::queries;
use crate::REMEMBER;
use crate::config::ChatConfig;
use crate::metrics::Figures;

/// The consumer's name in the inbox.
const CONSUMER: &str = "notify.chat";

/// The notifications and hooks in the database, and the only rules that move them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledger {
    pool: Pool,
    clock: Clock,
    config: ChatConfig,
    figures: Figures,
    relay: RelayHandle,
    /// Who holds hooks: this process, in this run.
    owner: Arc<str>,
}

/// A plan that a team is to be told of.
pub(super) struct Planning {
    pub(super) session_id: Uuid,
    pub(super) project_id: i64,
    /// The chat's revision when the session started; none without a chat.
    pub(super) revision: Option<i64>,
    /// The event's data.
    pub(super) payload: String,
}

impl Ledger {
    pub(crate) fn new(
        pool: Pool,
        clock: Clock,
        config: ChatConfig,
        figures: Figures,
        relay: RelayHandle,
    ) -> Self {
        Self {
            pool,
            clock,
            config,
            figures,
            relay,
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// Writes a plan down to be told, once however often the event comes.
    pub(super) async fn take_plan(
        &self,
        id: Uuid,
        request_id: Option<String>,
        plan: Planning,
    ) -> Result<(), DbError> {
        let now = self.clock.now();
        let row = NewDelivery {
            event_id: id.to_string(),
            session_id: plan.session_id.to_string(),
            project_id: plan.project_id,
            revision: plan.revision.unwrap_or_default(),
            request_id,
            payload: Some(plan.payload),
            state: PENDING,
            attempts: 0,
            next_attempt_at: now.naive_utc(),
            give_up_at: now.naive_utc() + self.config.give_up_after(),
            reason: None,
            created_at: now.naive_utc(),
            settled_at: None,
        };
        let has_chat = plan.revision.is_some();
        self.write(move |db, tally| {
            if !inbox::record(db, CONSUMER, id, now.naive_utc())? {
                return Ok(());
            }
            queries::insert_delivery(db, &row)?;
            if has_chat {
                queries::expect(db, row.project_id, now.naive_utc())
            } else {
                Moves { db, tally, now }.end(&opened(row), Ending::Skipped, NO_CHAT)
            }
        })
        .await
    }

    /// Keeps a project's destination, unless a newer one is known.
    pub(super) async fn take_destination(
        &self,
        id: Uuid,
        destination: IntegrationConfigured,
    ) -> Result<(), DbError> {
        let now = self.clock.now_naive();
        self.write(move |db, _| {
            if inbox::record(db, CONSUMER, id, now)? {
                let IntegrationConfigured {
                    project_id,
                    revision,
                    sealed,
                } = &destination;
                queries::configure(db, *project_id, *revision, sealed.as_deref(), now)?;
            }
            Ok(())
        })
        .await
    }

    /// When there is something to do next; costs no write.
    pub(super) async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::next_due(db)?))
            .await?;
        Ok(due.map(|due| (due - self.clock.now_naive()).to_std().unwrap_or_default()))
    }

    /// Takes up to `limit` hooks that are due, each with the message whose turn it is.
    pub(super) async fn lease(&self, limit: i64) -> Result<Vec<Job>, DbError> {
        let (now, owner) = (self.clock.now(), Arc::clone(&self.owner));
        self.write(move |db, tally| {
            let due = queries::due_destinations(db, now.naive_utc(), limit)?;
            let mut jobs = Vec::new();
            for destination in due {
                if destination.lease_owner.is_some() {
                    // Its holder died, perhaps between the chat's answer and the row.
                    let abandoned = queries::reopen_abandoned(db, destination.project_id)?;
                    tally.possible_duplicates += u64::try_from(abandoned).unwrap_or_default();
                }
                jobs.extend(Moves { db, tally, now }.proceed(destination, &owner)?);
            }
            Ok(jobs)
        })
        .await
    }

    /// Writes down what came of a job and, with `keep`, gives the hook's next one, if it is its turn.
    pub(super) async fn settle(
        &self,
        job: &Job,
        answer: &Answer,
        keep: bool,
    ) -> Result<Option<Job>, DbError> {
        let (now, owner, interval) = (
            self.clock.now(),
            Arc::clone(&self.owner),
            self.config.interval(),
        );
        let (job, answer) = (job.clone(), answer.clone());
        self.write(move |db, tally| {
            let Some(mut destination) = queries::lock_destination(db, job.project_id)? else {
                return Ok(None);
            };
            let mut moves = Moves { db, tally, now };
            let wait = moves.conclude(&mut destination, &job, &answer)?;
            if destination.lease_owner.as_deref() != Some(&*owner) {
                // Ours no longer: whoever has it decides what comes next.
                return Ok(None);
            }
            let free_at = now.naive_utc() + wait.max(interval);
            destination.free_at = destination.free_at.max(free_at);
            if keep {
                moves.proceed(destination, &owner)
            } else {
                moves.let_go(&destination).map(|()| None)
            }
        })
        .await
    }

    /// Counts what waits and forgets what is long over.
    pub(super) async fn keep_house(&self, forget: bool) -> Result<(), DbError> {
        let open = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::count_open(db)?))
            .await?;
        self.figures.waiting.set(open);
        if forget {
            let until = self.clock.now_naive() - REMEMBER;
            self.write(move |db, _| {
                queries::forget_settled_before(db, until)?;
                inbox::forget_before(db, until).map(drop)
            })
            .await?;
        }
        Ok(())
    }

    /// One transaction; what it did is counted, and its events are sent on their way, once it is committed.
    async fn write<T, F>(&self, work: F) -> Result<T, DbError>
    where
        F: FnOnce(&mut Db, &mut Tally) -> QueryResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (done, tally) = self
            .pool
            .write_tx::<_, DbError, _>(move |db| {
                let mut tally = Tally::default();
                Ok((work(db, &mut tally)?, tally))
            })
            .await?;
        if !tally.ended.is_empty() {
            self.relay.wake();
        }
        for ending in tally.ended {
            self.figures.settled(ending.name(), 1);
        }
        self.figures
            .possible_duplicates
            .inc_by(tally.possible_duplicates);
        self.figures.disabled.inc_by(tally.disabled);
        self.figures.retries.inc_by(tally.retries);
        Ok(done)
    }
}

fn opened(row: NewDelivery) -> DeliveryRow {
    DeliveryRow {
        event_id: row.event_id,
        session_id: row.session_id,
        project_id: row.project_id,
        request_id: row.request_id,
        payload: row.payload,
        attempts: row.attempts,
        give_up_at: row.give_up_at,
        reason: row.reason,
    }
}
