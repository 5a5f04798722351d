use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::{Db, DbError, Gather, Pool};

use super::queries::{self, Candidate, Candidates, Facts, FactsArguments, Settlement};
use crate::rules::integrity::Work;
use crate::rules::streaks::Day;

/// Where a submit finds what it is about, and is kept.
pub(super) trait Store {
    /// The sessions that it may be about.
    async fn candidates(&mut self, of: Candidates) -> Result<Vec<Candidate>, DbError>;

    /// What it is settled by.
    async fn facts(&mut self, of: FactsArguments) -> Result<Facts, DbError>;

    /// The user's counted days, in order.
    async fn counted_days(&mut self, user: UserId) -> Result<Vec<Day>, DbError>;

    /// The credited time of the user's other sessions around a start.
    async fn work_near(
        &mut self,
        user: UserId,
        started_at: NaiveDateTime,
    ) -> Result<Vec<Work>, DbError>;

    /// Writes it, once; false when what it was settled by has changed, or somebody else holds what is the user's: the next
    /// round is patient.
    async fn settle(&mut self, settlement: Settlement) -> Result<bool, DbError>;
}

/// PostgreSQL: what several submits need at the same time is one statement for all of them.
#[derive(Debug)]
pub(crate) struct Submits {
    pool: Pool,
    candidates: Gather<Candidates, Vec<Candidate>>,
    facts: Gather<FactsArguments, Facts>,
    settlements: Gather<Settlement, bool>,
}

impl Submits {
    pub(crate) fn new(pool: &Pool) -> Self {
        Self {
            pool: pool.clone(),
            candidates: pool.gather(|db, of| Ok(queries::candidates(db, of)?)),
            facts: pool.gather(|db, of| Ok(queries::facts(db, of)?)),
            settlements: pool.gather_writes(|db, of| Ok(queries::settle(db, of)?), |of| of.user_id),
        }
    }
}

impl Store for &Submits {
    async fn candidates(&mut self, of: Candidates) -> Result<Vec<Candidate>, DbError> {
        self.candidates.run(of).await
    }

    async fn facts(&mut self, of: FactsArguments) -> Result<Facts, DbError> {
        self.facts.run(of).await
    }

    async fn counted_days(&mut self, user: UserId) -> Result<Vec<Day>, DbError> {
        let days = move |db: &mut Db| Ok(queries::counted_days(db, user)?);
        self.pool.read(days).await
    }

    async fn work_near(
        &mut self,
        user: UserId,
        started_at: NaiveDateTime,
    ) -> Result<Vec<Work>, DbError> {
        let work = move |db: &mut Db| Ok(queries::work_near(db, user, started_at)?);
        self.pool.read(work).await
    }

    async fn settle(&mut self, settlement: Settlement) -> Result<bool, DbError> {
        if !settlement.patient {
            return self.settlements.run(settlement).await;
        }
        // It waits by itself, so that others do not wait with it.
        let alone = move |db: &mut Db| settle_one(db, &settlement);
        self.pool.write_one(alone).await
    }
}

/// SQLite: everything inside of one write transaction, which others share.
pub(super) struct InTransaction<'a>(pub(super) &'a mut Db);

impl Store for InTransaction<'_> {
    async fn candidates(&mut self, of: Candidates) -> Result<Vec<Candidate>, DbError> {
        let found = queries::candidates(self.0, std::slice::from_ref(&of))?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn facts(&mut self, of: FactsArguments) -> Result<Facts, DbError> {
        let facts = queries::facts(self.0, std::slice::from_ref(&of))?;
        Ok(facts.into_iter().next().ok_or(diesel::NotFound)?)
    }

    async fn counted_days(&mut self, user: UserId) -> Result<Vec<Day>, DbError> {
        Ok(queries::counted_days(self.0, user)?)
    }

    async fn work_near(
        &mut self,
        user: UserId,
        started_at: NaiveDateTime,
    ) -> Result<Vec<Work>, DbError> {
        Ok(queries::work_near(self.0, user, started_at)?)
    }

    async fn settle(&mut self, settlement: Settlement) -> Result<bool, DbError> {
        settle_one(self.0, &settlement)
    }
}

fn settle_one(db: &mut Db, settlement: &Settlement) -> Result<bool, DbError> {
    let won = queries::settle(db, std::slice::from_ref(settlement))?;
    Ok(won.contains(&true))
}
