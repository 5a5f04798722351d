use std::sync::Arc;
use std::time::Duration;

use auth_types::UserId;
use broker::RelayHandle;
use chrono::{DateTime, TimeDelta, Utc};
use db_kit::outbox::enqueue;
use db_kit::{Db, DbError, Pool, inbox};
use diesel::QueryResult;
use event_types::{
    WebhookAttempted, WebhookConfigured, WebhookDue, WebhookOutcome, WebhookReplayed,
};
use service_kit::Clock;
use uuid::Uuid;

use super::model::{Answer, Job, NewCall, PENDING, name};
use super::moves::{Moves, Tally};
use super::queries;
use crate::metrics::WebhookFigures;
use crate::scheduler::FORGOTTEN;
use crate::{REMEMBER, SOURCE};

/// The consumer's name in the inbox.
const CONSUMER: &str = "notify.webhooks";

/// After this a call is given up in any case: `Retry-After` can stretch its tries, and its webhook may never
/// become known.
const GIVE_UP_AFTER: TimeDelta = TimeDelta::days(5);

/// Calls about a user who is gone that are deleted in one transaction.
const BATCH: i64 = 1_000;

/// The webhooks and their calls in the database, and the only rules that move them. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledger {
    pool: Pool,
    clock: Clock,
    figures: WebhookFigures,
    relay: RelayHandle,
    /// Who holds webhooks: this process, in this run.
    owner: Arc<str>,
}

impl Ledger {
    pub(crate) fn new(
        pool: Pool,
        clock: Clock,
        figures: WebhookFigures,
        relay: RelayHandle,
    ) -> Self {
        Self {
            pool,
            clock,
            figures,
            relay,
            owner: Uuid::now_v7().to_string().into(),
        }
    }

    /// Keeps where a webhook goes, unless something newer is known.
    pub(super) async fn configure(
        &self,
        id: Uuid,
        configured: WebhookConfigured,
    ) -> Result<(), DbError> {
        let now = self.clock.now_naive();
        self.write(move |db, _| {
            if inbox::record(db, CONSUMER, id, now)? {
                queries::configure(db, &configured, now)?;
            }
            Ok(())
        })
        .await
    }

    /// Writes a call down to be made, once however often the event comes.
    pub(super) async fn take(
        &self,
        id: Uuid,
        request_id: Option<String>,
        due: WebhookDue,
        body: String,
    ) -> Result<(), DbError> {
        let now = self.clock.now_naive();
        let row = NewCall {
            delivery_id: due.delivery_id.to_string(),
            webhook_id: due.webhook_id,
            revision: due.revision,
            user_id: due.user_id.get(),
            request_id,
            body,
            state: PENDING,
            step: 0,
            attempts: 0,
            tries: 0,
            next_attempt_at: now,
            give_up_at: now + GIVE_UP_AFTER,
        };
        self.write(move |db, _| {
            if inbox::record(db, CONSUMER, id, now)? {
                queries::insert_call(db, &row)?;
                queries::expect(db, row.webhook_id, now, row.give_up_at)?;
            }
            Ok(())
        })
        .await
    }

    /// Has a settled call made again. One that is not kept any more is told to have failed.
    pub(super) async fn replay(
        &self,
        id: Uuid,
        request_id: Option<String>,
        replayed: WebhookReplayed,
    ) -> Result<(), DbError> {
        let at = self.clock.now();
        let now = at.naive_utc();
        self.write(move |db, tally| {
            if !inbox::record(db, CONSUMER, id, now)? {
                return Ok(());
            }
            let (webhook, call) = (replayed.webhook_id, replayed.delivery_id.to_string());
            if queries::reopen(db, webhook, &call, now, now + GIVE_UP_AFTER)? {
                return queries::expect(db, webhook, now, now + GIVE_UP_AFTER);
            }
            if queries::exists(db, &call)? {
                return Ok(());
            }
            tally.told.push(WebhookOutcome::Failed);
            enqueue(db, SOURCE, at, request_id, &forgotten(&replayed, at))
        })
        .await
    }

    /// Deletes the calls that tell of a user who is gone.
    pub(super) async fn forget_user(&self, user: UserId) -> Result<(), DbError> {
        loop {
            let deleted = self.write(move |db, _| queries::delete_calls_about(db, user, BATCH));
            if deleted.await? == 0 {
                return Ok(());
            }
        }
    }

    /// How long until there is something to do; costs no write.
    pub(super) async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::next_due(db)?))
            .await?;
        Ok(due.map(|due| (due - self.clock.now_naive()).to_std().unwrap_or_default()))
    }

    /// Takes up to `limit` webhooks that are due, each with the call whose turn it is.
    pub(super) async fn lease(&self, limit: i64) -> Result<Vec<Job>, DbError> {
        let (now, owner) = (self.clock.now(), Arc::clone(&self.owner));
        self.write(move |db, tally| {
            let mut jobs = Vec::new();
            for webhook in queries::list_due(db, now.naive_utc(), limit)? {
                if webhook.lease_owner.is_some() {
                    // Its holder died, perhaps between the receiver's answer and the row.
                    let abandoned = queries::reopen_abandoned(db, webhook.webhook_id)?;
                    tally.possible_duplicates += u64::try_from(abandoned).unwrap_or_default();
                }
                jobs.extend(Moves { db, tally, now }.proceed(webhook, &owner)?);
            }
            Ok(jobs)
        })
        .await
    }

    /// Writes down what came of a job and, with `keep`, gives the webhook's next one, if it is its turn.
    pub(super) async fn settle(
        &self,
        job: &Job,
        answer: &Answer,
        keep: bool,
    ) -> Result<Option<Job>, DbError> {
        let (now, owner) = (self.clock.now(), Arc::clone(&self.owner));
        let (job, answer) = (job.clone(), answer.clone());
        self.write(move |db, tally| {
            let Some(mut webhook) = queries::lock(db, job.call.webhook_id)? else {
                return Ok(None);
            };
            let ours = webhook.lease_owner.as_deref() == Some(&*owner)
                && webhook.due_at == Some(job.held_until);
            if !ours && !matches!(answer, Answer::Delivered(_)) {
                // This run's no longer: what comes of the call whoever has it says.
                return Ok(None);
            }
            let mut moves = Moves { db, tally, now };
            let wait = moves.conclude(&mut webhook, &job, &answer)?;
            if !ours {
                return Ok(None);
            }
            webhook.free_at = webhook.free_at.max(now.naive_utc() + wait);
            if keep {
                moves.proceed(webhook, &owner)
            } else {
                moves.let_go(&webhook).map(|()| None)
            }
        })
        .await
    }

    /// Counts what waits and forgets what is long over.
    pub(super) async fn keep_house(&self) -> Result<(), DbError> {
        let open = self
            .pool
            .read::<_, DbError, _>(|db| Ok(queries::count_open(db)?))
            .await?;
        self.figures.waiting.set(open);
        let until = self.clock.now_naive() - REMEMBER;
        self.write(move |db, _| queries::forget_before(db, until, FORGOTTEN))
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
        if !tally.told.is_empty() {
            self.relay.wake();
        }
        for outcome in tally.told {
            self.figures.told(name(outcome));
        }
        self.figures
            .possible_duplicates
            .inc_by(tally.possible_duplicates);
        self.figures.disabled.inc_by(tally.disabled);
        Ok(done)
    }
}

/// The last word about a call of which nothing is left here.
fn forgotten(replayed: &WebhookReplayed, at: DateTime<Utc>) -> WebhookAttempted {
    WebhookAttempted {
        webhook_id: replayed.webhook_id,
        delivery_id: replayed.delivery_id,
        step: i64::MAX,
        outcome: WebhookOutcome::Failed,
        attempts: 0,
        status_code: None,
        duration_ms: None,
        reason: Some("The call is not kept any more".to_owned()),
        next_attempt_at: None,
        at,
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
