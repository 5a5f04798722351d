use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::time::Duration;

use broker::RelayHandle;
use db_kit::{Batcher, Db, DbError, Pool, inbox};
use diesel::QueryResult;
use service_kit::Clock;
use uuid::Uuid;

use super::medium::Medium;
use super::model::{Attempt, AttemptReport};
use super::queries::{deliveries, destinations};
use super::scheduler::{JobQueue, ShutdownSignal};
use super::transitions::{FinishedAttempt, TransitionCounts, Transitions};
use crate::metrics::DeliveryMetrics;

/// How long settled deliveries and the inbox are kept.
const REMEMBER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The most old rows of a table that are deleted at once: more than arrive in the meantime, but few enough not to
/// block others.
const FORGOTTEN: i64 = 10_000;

/// What the ledgers of all media share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) relay: RelayHandle,
}

/// The deliveries of one medium in the database, and all changes of their state. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DeliveryStore<M> {
    medium: M,
    figures: DeliveryMetrics,
    shared: Shared,
    conclusions: Arc<Batcher<FinishedAttempt<M>, TransitionCounts>>,
    /// The lease owner: this process, in this run.
    owner: Arc<str>,
}

impl<M: Medium> DeliveryStore<M> {
    pub(crate) fn new(medium: M, figures: DeliveryMetrics, shared: Shared) -> Self {
        let conclusions = shared
            .pool
            .batch_transactions(conclude_many, destination_hash);
        Self {
            medium,
            figures,
            shared,
            conclusions: Arc::new(conclusions),
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// Runs `work` in a transaction. After the commit, it counts the metrics and wakes the relay for new events.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, DbError>
    where
        F: FnOnce(&mut Transitions<'_, M>) -> QueryResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (medium, now) = (self.medium.clone(), self.shared.clock.now());
        let transaction = self
            .shared
            .pool
            .write_tx::<_, DbError, _>(move |db| Ok(Transitions::run(db, &medium, now, work)?));
        let (done, tally) = transaction.await?;
        self.committed(&tally);
        Ok(done)
    }

    fn committed(&self, tally: &TransitionCounts) {
        self.figures.count(tally);
        if tally.has_events {
            self.shared.relay.wake();
        }
    }
}

/// Returns a hash of the destination, so that the attempts at one destination are recorded one at a time.
fn destination_hash<M>(conclusion: &FinishedAttempt<M>) -> i64 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let id = &conclusion.attempt.destination_id;
    hasher.hash_one(id).cast_signed()
}

/// Records the outcomes of attempts in one transaction. The first tally has all counts.
fn conclude_many<M: Medium>(
    db: &mut Db,
    conclusions: &[FinishedAttempt<M>],
) -> Result<Vec<TransitionCounts>, DbError> {
    let Some(first) = conclusions.first() else {
        return Ok(Vec::new());
    };
    let conclude = |all: &mut Transitions<'_, M>| all.conclude(conclusions);
    let ((), tally) = Transitions::run(db, &first.medium, first.now, conclude)?;
    let mut tallies = vec![tally];
    tallies.resize_with(conclusions.len(), TransitionCounts::default);
    Ok(tallies)
}

impl<M: Medium> JobQueue for DeliveryStore<M> {
    type Job = Attempt;
    type Answer = AttemptReport;
    type Connection = M::Connection;

    const NAME: &'static str = M::DELIVERIES;

    fn room(&self, busy: usize) -> usize {
        self.medium.at_once().saturating_sub(busy)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self
            .shared
            .pool
            .read::<_, DbError, _>(|db| Ok(destinations::next_due(db, M::NAME)?));
        let wait = due.await?.map(|due| {
            let wait = (due - self.shared.clock.now_naive()).to_std();
            wait.unwrap_or_default()
        });
        Ok(wait.map(|wait| wait.max(self.medium.closed_for())))
    }

    async fn lease(&self, limit: i64) -> Result<Vec<Attempt>, DbError> {
        let owner = Arc::clone(&self.owner);
        self.write(move |transitions| transitions.lease(limit, &owner))
            .await
    }

    async fn act(
        &self,
        connection: &mut M::Connection,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> AttemptReport {
        self.medium.send(connection, attempt, stopping).await
    }

    async fn settle(&self, attempt: &Attempt, answered: &AttemptReport) -> Result<(), DbError> {
        let conclusion = FinishedAttempt {
            medium: self.medium.clone(),
            now: self.shared.clock.now(),
            attempt: attempt.clone(),
            answered: answered.clone(),
            owner: Arc::clone(&self.owner),
        };
        let tally = self.conclusions.run(conclusion).await?;
        self.committed(&tally);
        Ok(())
    }

    fn keeps_connection(&self) -> bool {
        self.medium.keeps_connection()
    }

    async fn close(&self, connection: M::Connection) {
        self.medium.close(connection).await;
    }

    async fn keep_house(&self) -> Result<(), DbError> {
        let open = self
            .shared
            .pool
            .read::<_, DbError, _>(|db| Ok(deliveries::count_open(db, M::NAME)?));
        self.figures.waiting.set(open.await?);
        let until = self.shared.clock.now_naive() - REMEMBER;
        self.write(move |transitions| {
            let db = &mut *transitions.db;
            deliveries::forget_settled_before(db, until, FORGOTTEN)?;
            destinations::forget_removed_before(db, M::NAME, until)?;
            inbox::forget_before(db, until, FORGOTTEN).map(drop)
        })
        .await
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
