use std::sync::Arc;
use std::time::Duration;

use broker::RelayHandle;
use db_kit::{DbError, Pool, inbox};
use diesel::QueryResult;
use service_kit::Clock;
use uuid::Uuid;

use super::medium::Medium;
use super::model::{Answered, Attempt};
use super::queries::{deliveries, destinations};
use super::scheduler::{Stopping, Work};
use super::transitions::{Tally, Transitions};
use crate::metrics::Figures;

/// How long what is settled, and the inbox, are remembered.
const REMEMBER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How many old rows of a table are forgotten at once at most: more than come in the meantime, and little enough to
/// hold nothing up.
const FORGOTTEN: i64 = 10_000;

/// What the ledgers of all media share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) relay: RelayHandle,
}

/// The deliveries of one medium in the database, and their only way from one state to the next. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledger<M> {
    medium: M,
    figures: Figures,
    shared: Shared,
    /// Who leases destinations: this process, in this run.
    owner: Arc<str>,
}

impl<M: Medium> Ledger<M> {
    pub(crate) fn new(medium: M, figures: Figures, shared: Shared) -> Self {
        Self {
            medium,
            figures,
            shared,
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// One transaction; what it did is counted, and its events are sent on their way, once it is committed.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, DbError>
    where
        F: FnOnce(&mut Transitions<'_, M>) -> QueryResult<T> + Send + 'static,
        T: Send + 'static,
    {
        let (medium, now) = (self.medium.clone(), self.shared.clock.now());
        let transaction = self.shared.pool.write_tx::<_, DbError, _>(move |db| {
            let mut transitions = Transitions {
                db,
                medium: &medium,
                tally: Tally::default(),
                now,
            };
            Ok((work(&mut transitions)?, transitions.tally))
        });
        let (done, tally) = transaction.await?;
        self.figures.count(&tally);
        if tally.has_events {
            self.shared.relay.wake();
        }
        Ok(done)
    }
}

impl<M: Medium> Work for Ledger<M> {
    type Job = Attempt;
    type Answer = Answered;
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
        stopping: &Stopping,
    ) -> Answered {
        self.medium.send(connection, attempt, stopping).await
    }

    async fn settle(&self, attempt: &Attempt, answered: &Answered) -> Result<(), DbError> {
        let owner = Arc::clone(&self.owner);
        let (attempt, answered) = (attempt.clone(), answered.clone());
        self.write(move |transitions| transitions.conclude(&attempt, &answered, &owner))
            .await
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
