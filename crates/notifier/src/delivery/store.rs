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
use super::transaction::{DeliveryTransaction, FinishedAttempt, TransitionCounts};
use crate::metrics::DeliveryMetrics;

/// How long settled deliveries and the inbox are kept.
const RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The most old rows of a table that are deleted at once: more than arrive in the meantime, but few enough not to
/// block others.
const MAX_DELETED: i64 = 10_000;

/// What the stores of all media share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoreContext {
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) relay: RelayHandle,
}

/// The deliveries of one medium in the database, and all changes of their state. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DeliveryStore<M> {
    medium: M,
    metrics: DeliveryMetrics,
    context: StoreContext,
    outcomes: Arc<Batcher<FinishedAttempt<M>, TransitionCounts>>,
    /// The lease owner: this process, in this run.
    owner: Arc<str>,
}

impl<M: Medium> DeliveryStore<M> {
    pub(crate) fn new(medium: M, metrics: DeliveryMetrics, context: StoreContext) -> Self {
        let outcomes = context
            .pool
            .batch_transactions(record_outcomes, destination_hash);
        Self {
            medium,
            metrics,
            context,
            outcomes: Arc::new(outcomes),
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// Runs `work` in a transaction. After the commit, it counts the metrics and wakes the relay for new events.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, DbError>
    where
        F: FnOnce(&mut DeliveryTransaction<'_, M>) -> QueryResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (medium, now) = (self.medium.clone(), self.context.clock.now());
        let transaction = self.context.pool.write_tx::<_, DbError, _>(move |db| {
            Ok(DeliveryTransaction::run(db, &medium, now, work)?)
        });
        let (done, counts) = transaction.await?;
        self.after_commit(&counts);
        Ok(done)
    }

    fn after_commit(&self, counts: &TransitionCounts) {
        self.metrics.count(counts);
        if counts.has_events {
            self.context.relay.wake();
        }
    }
}

/// Returns a hash of the destination, so that the attempts at one destination are recorded one at a time.
fn destination_hash<M>(finished: &FinishedAttempt<M>) -> i64 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let id = &finished.attempt.destination_id;
    hasher.hash_one(id).cast_signed()
}

/// Records the outcomes of attempts in one transaction, at the time of the first: they arrived together. The first result
/// has all counts.
fn record_outcomes<M: Medium>(
    db: &mut Db,
    attempts: &[FinishedAttempt<M>],
) -> Result<Vec<TransitionCounts>, DbError> {
    let Some(first) = attempts.first() else {
        return Ok(Vec::new());
    };
    let record = |all: &mut DeliveryTransaction<'_, M>| all.record_outcomes(attempts);
    let ((), counts) = DeliveryTransaction::run(db, &first.medium, first.now, record)?;
    let mut all_counts = vec![counts];
    all_counts.resize_with(attempts.len(), TransitionCounts::default);
    Ok(all_counts)
}

impl<M: Medium> JobQueue for DeliveryStore<M> {
    type Job = Attempt;
    type Outcome = AttemptReport;
    type Connection = M::Connection;

    const NAME: &'static str = M::DELIVERIES;

    fn capacity(&self, running: usize) -> usize {
        self.medium.at_once().saturating_sub(running)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self
            .context
            .pool
            .read::<_, DbError, _>(|db| Ok(destinations::next_due(db, M::NAME)?));
        let wait = due.await?.map(|due| {
            let wait = (due - self.context.clock.now_naive()).to_std();
            wait.unwrap_or_default()
        });
        Ok(wait.map(|wait| wait.max(self.medium.blocked_for())))
    }

    async fn lease(&self, limit: i64) -> Result<Vec<Attempt>, DbError> {
        let owner = Arc::clone(&self.owner);
        self.write(move |tx| tx.lease(limit, &owner)).await
    }

    async fn run(
        &self,
        connection: &mut M::Connection,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> AttemptReport {
        self.medium.send(connection, attempt, stopping).await
    }

    async fn record(&self, attempt: &Attempt, report: &AttemptReport) -> Result<(), DbError> {
        let finished = FinishedAttempt {
            medium: self.medium.clone(),
            now: self.context.clock.now(),
            attempt: attempt.clone(),
            report: report.clone(),
            owner: Arc::clone(&self.owner),
        };
        let counts = self.outcomes.run(finished).await?;
        self.after_commit(&counts);
        Ok(())
    }

    fn keeps_connection(&self) -> bool {
        self.medium.keeps_connection()
    }

    async fn close(&self, connection: M::Connection) {
        self.medium.close(connection).await;
    }

    async fn housekeep(&self) -> Result<(), DbError> {
        let open = self
            .context
            .pool
            .read::<_, DbError, _>(|db| Ok(deliveries::count_open(db, M::NAME)?));
        self.metrics.waiting.set(open.await?);
        let until = self.context.clock.now_naive() - RETENTION;
        self.write(move |tx| {
            let db = &mut *tx.db;
            deliveries::delete_settled_before(db, until, MAX_DELETED)?;
            destinations::delete_removed_before(db, M::NAME, until)?;
            inbox::delete_before(db, until, MAX_DELETED).map(drop)
        })
        .await
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
