use std::sync::Arc;
use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use event_types::MailRequested;
use service_kit::Clock;
use uuid::Uuid;

use super::model::{Answer, Ending, LOCKED, MailRow, NewMail, PENDING};
use super::queries::{self, Return};
use crate::REMEMBER;
use crate::metrics::MailFigures;
use crate::scheduler::FORGOTTEN;
use crate::waits::message_wait;

/// The consumer's name in the inbox.
const CONSUMER: &str = "notify.mail";

/// Said of a mail that was given up before any try of its own.
const NEVER_TRIED: &str = "The mail server could not be reached in time";

/// The mails in the database, and the only rules that move them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledger {
    pool: Pool,
    clock: Clock,
    terms: Terms,
    figures: MailFigures,
    /// Who holds mails: this process, in this run.
    owner: Arc<str>,
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// After this a mail that could not be delivered is given up.
    pub(crate) give_up_after: Duration,
    /// How long a mail is held without a word: longer than any attempt to send it.
    pub(crate) lease: Duration,
}

/// What a transaction did, for figures once it is committed.
#[derive(Default)]
struct Tally {
    ended: Vec<Ending>,
    possible_duplicates: u64,
    retries: u64,
}

impl Ledger {
    pub(crate) fn new(pool: Pool, clock: Clock, terms: Terms, figures: MailFigures) -> Self {
        Self {
            pool,
            clock,
            terms,
            figures,
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// Writes a mail down to be sent, once however often the event comes.
    pub(super) async fn take(
        &self,
        id: Uuid,
        request_id: Option<String>,
        requested: MailRequested,
    ) -> Result<(), DbError> {
        let now = self.clock.now_naive();
        let row = NewMail {
            event_id: id.to_string(),
            template: requested.template,
            sealed: Some(requested.sealed),
            request_id,
            state: PENDING,
            attempts: 0,
            due_at: now,
            give_up_at: now + self.terms.give_up_after,
            created_at: now,
        };
        self.write(move |db, _| {
            if inbox::record(db, CONSUMER, id, now)? {
                queries::insert_mail(db, &row)?;
            }
            Ok(())
        })
        .await
    }

    /// Has those that a former run could not open tried at once: the operator may have given the key.
    pub(crate) async fn try_locked(&self) -> Result<usize, DbError> {
        let now = self.clock.now_naive();
        let give_up_at = now + self.terms.give_up_after;
        self.write(move |db, _| queries::try_locked(db, now, give_up_at))
            .await
    }

    /// How long until a mail is due; costs no write.
    pub(super) async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::next_due(db)?))
            .await?;
        Ok(due.map(|due| (due - self.clock.now_naive()).to_std().unwrap_or_default()))
    }

    /// Takes up to `limit` mails that are due.
    pub(super) async fn lease(&self, limit: i64) -> Result<Vec<MailRow>, DbError> {
        let holder = self.holder();
        self.write(move |db, tally| holder.take_due(db, tally, limit))
            .await
    }

    /// Writes down what came of a mail and, with `keep`, gives the next one that is due.
    pub(super) async fn settle(
        &self,
        job: &MailRow,
        answer: &Answer,
        keep: bool,
    ) -> Result<Option<MailRow>, DbError> {
        let holder = self.holder();
        let (job, answer) = (job.clone(), answer.clone());
        self.write(move |db, tally| {
            holder.conclude(db, tally, &job, &answer)?;
            if !keep {
                return Ok(None);
            }
            Ok(holder.take_due(db, tally, 1)?.pop())
        })
        .await
    }

    /// Counts what waits and forgets what is long over. The inbox is one for all consumers, and the
    /// chat's ledger forgets in it.
    pub(super) async fn keep_house(&self) -> Result<(), DbError> {
        let open = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::count_open(db)?))
            .await?;
        self.figures.waiting.set(open);
        let until = self.clock.now_naive() - REMEMBER;
        self.write(move |db, _| queries::forget_settled_before(db, until, FORGOTTEN).map(drop))
            .await
    }

    fn holder(&self) -> Holder {
        Holder {
            owner: Arc::clone(&self.owner),
            terms: self.terms,
            now: self.clock.now_naive(),
        }
    }

    /// One transaction; what it did is counted once it is committed.
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
        for ending in tally.ended {
            self.figures.settled(ending.name());
        }
        self.figures
            .possible_duplicates
            .inc_by(tally.possible_duplicates);
        self.figures.retries.inc_by(tally.retries);
        Ok(done)
    }
}

/// Who moves rows, and when.
struct Holder {
    owner: Arc<str>,
    terms: Terms,
    now: NaiveDateTime,
}

impl Holder {
    /// Holds mails that are due. Those whose time is over are ended instead, unless they never had any:
    /// nobody could open them.
    fn take_due(&self, db: &mut Db, tally: &mut Tally, limit: i64) -> QueryResult<Vec<MailRow>> {
        let mut held = Vec::new();
        for mut row in queries::list_due(db, self.now, limit)? {
            if row.lease_owner.is_some() {
                // Its holder died, perhaps between the server's answer and the row.
                tally.possible_duplicates += 1;
            }
            if row.give_up_at <= self.now && row.state != LOCKED {
                let reason = row.reason.as_deref().unwrap_or(NEVER_TRIED);
                self.end(db, tally, &row.event_id, Ending::Failed, Some(reason))?;
                continue;
            }
            let until = self.now + self.terms.lease;
            queries::hold(db, &row.event_id, &self.owner, until)?;
            row.attempts += 1;
            held.push(row);
        }
        Ok(held)
    }

    fn conclude(
        &self,
        db: &mut Db,
        tally: &mut Tally,
        job: &MailRow,
        answer: &Answer,
    ) -> QueryResult<()> {
        let again_at = self.now + message_wait(job.attempts);
        let back = match answer {
            Answer::Delivered => {
                return self.end(db, tally, &job.event_id, Ending::Delivered, None);
            }
            Answer::Refused(reason) => {
                return self.end(db, tally, &job.event_id, Ending::Failed, Some(reason));
            }
            Answer::Later {
                reason,
                maybe_taken,
            } => {
                tally.possible_duplicates += u64::from(*maybe_taken);
                if again_at >= job.give_up_at {
                    return self.end(db, tally, &job.event_id, Ending::Failed, Some(reason));
                }
                tally.retries += 1;
                Return {
                    state: PENDING,
                    attempts: job.attempts,
                    due_at: again_at,
                    give_up_at: job.give_up_at,
                    reason: Some(reason),
                }
            }
            Answer::Untried(reason) => Return {
                state: PENDING,
                attempts: job.attempts - 1,
                due_at: self.now,
                give_up_at: job.give_up_at,
                reason: reason.as_deref().or(job.reason.as_deref()),
            },
            // Its time runs from when it can be opened.
            Answer::Locked(reason) => Return {
                state: LOCKED,
                attempts: job.attempts,
                due_at: again_at,
                give_up_at: job.give_up_at.max(again_at + self.terms.give_up_after),
                reason: Some(reason),
            },
        };
        queries::put_back(db, job, &self.owner, &back).map(drop)
    }

    fn end(
        &self,
        db: &mut Db,
        tally: &mut Tally,
        event_id: &str,
        ending: Ending,
        reason: Option<&str>,
    ) -> QueryResult<()> {
        if queries::settle(db, event_id, ending, reason, self.now)? {
            tally.ended.push(ending);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
