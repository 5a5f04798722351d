use std::sync::Arc;
use std::time::Duration;

use broker::RelayHandle;
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use service_kit::Clock;
use uuid::Uuid;

use super::arrivals::Arrival;
use super::model::{Answer, Job};
use super::moves::{Moves, Tally};
use super::queries;
use crate::REMEMBER;
use crate::config::ChatConfig;
use crate::metrics::Figures;
use crate::scheduler::FORGOTTEN;

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

    /// Writes down what came, in one transaction.
    pub(super) async fn take_in(&self, arrivals: Vec<Arrival>) -> Result<(), DbError> {
        let (now, config) = (self.clock.now(), self.config);
        self.write(move |db, tally| Moves { db, tally, now }.take_in(arrivals, config))
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

    /// Counts what waits and forgets some of what is long over.
    pub(super) async fn keep_house(&self) -> Result<(), DbError> {
        let open = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::count_open(db)?))
            .await?;
        self.figures.waiting.set(open);
        let until = self.clock.now_naive() - REMEMBER;
        self.write(move |db, _| {
            queries::forget_settled_before(db, until, FORGOTTEN)?;
            inbox::forget_before(db, until, FORGOTTEN).map(drop)
        })
        .await
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
