use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use db_kit::Db;
use db_kit::outbox::enqueue;
use diesel::QueryResult;
use event_types::{WebhookAttempted, WebhookDisabled, WebhookOutcome};

use super::model::{Answer, CallRow, Job, OFF, REMOVED, Reply, WebhookRow};
use super::queries;
use crate::{SOURCE, waits};

/// How long a webhook is held without a word: a call takes ten seconds at most.
const LEASE: Duration = Duration::from_secs(30);

/// How many calls of a webhook are ended or deleted in one transaction.
const SLICE: i64 = 100;

/// Beyond this a date would overflow; whoever asks for more is given up long before.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3_600);

/// A webhook that has failed for this long, without a good answer in between, is switched off.
const PATIENCE: TimeDelta = TimeDelta::days(5);

const SWITCHED_OFF: &str = "The webhook is switched off";
const NEVER_KNOWN: &str = "The webhook's settings did not arrive";
const RESTS: &str = "The receiver asked not to be called for longer than that";

/// What a transaction did, for figures and wakes once it is committed.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) told: Vec<WebhookOutcome>,
    pub(super) possible_duplicates: u64,
    pub(super) disabled: u64,
}

/// The moves that a row can make, inside one transaction.
pub(super) struct Moves<'a> {
    pub(super) db: &'a mut Db,
    pub(super) tally: &'a mut Tally,
    pub(super) now: DateTime<Utc>,
}

impl Moves<'_> {
    /// Ends what needs no call, then either holds the webhook for the call whose turn it is, or lets it go.
    pub(super) fn proceed(&mut self, webhook: WebhookRow, owner: &str) -> QueryResult<Option<Job>> {
        let (id, at) = (webhook.webhook_id, self.now.naive_utc());
        if webhook.state == REMOVED {
            let more = i64::try_from(queries::delete_calls(self.db, id, SLICE)?) == Ok(SLICE);
            let due = more.then_some(at);
            return queries::keep(self.db, &webhook, None, due).map(|()| None);
        }
        let rests = webhook.target().is_some() && webhook.free_at > at;
        let untried = if rests { RESTS } else { NEVER_KNOWN };
        for row in queries::list_expired(self.db, id, at, SLICE)? {
            let reason = row.reason.clone();
            let reason = reason.unwrap_or_else(|| untried.to_owned());
            self.end(&row, WebhookOutcome::Failed, None, Some(reason))?;
        }
        let Some(sealed) = webhook.target() else {
            if webhook.state == OFF {
                for row in queries::list_open(self.db, id, webhook.revision, SLICE)? {
                    let reason = Some(SWITCHED_OFF.to_owned());
                    self.end(&row, WebhookOutcome::Skipped, None, reason)?;
                }
            }
            return self.let_go(&webhook).map(|()| None);
        };
        let next = if webhook.free_at <= at {
            queries::find_next(self.db, id, webhook.revision, at)?
        } else {
            None
        };
        let Some(mut call) = next else {
            return self.let_go(&webhook).map(|()| None);
        };
        queries::start_sending(self.db, &call.delivery_id)?;
        queries::keep(self.db, &webhook, Some(owner), Some(at + LEASE))?;
        call.attempts += 1;
        call.tries += 1;
        Ok(Some(Job {
            revision: webhook.revision,
            sealed: sealed.to_owned(),
            call,
            held_until: at + LEASE,
        }))
    }

    /// Lets a webhook go until there is something to do for it again.
    pub(super) fn let_go(&mut self, webhook: &WebhookRow) -> QueryResult<()> {
        let (id, revision) = (webhook.webhook_id, webhook.revision);
        let (next_attempt, given_up) = queries::next_moments(self.db, id, revision)?;
        let attempt = next_attempt.map(|attempt| match webhook.target() {
            Some(_) => attempt.max(webhook.free_at),
            // More than a slice is to be skipped.
            None => self.now.naive_utc(),
        });
        let due: Option<NaiveDateTime> = attempt.into_iter().chain(given_up).min();
        queries::keep(self.db, webhook, None, due)
    }

    /// Writes down what came of a call and says how long the webhook is to be left alone.
    pub(super) fn conclude(
        &mut self,
        webhook: &mut WebhookRow,
        job: &Job,
        answer: &Answer,
    ) -> QueryResult<Duration> {
        let same_target = webhook.revision == job.revision && webhook.target().is_some();
        let call = &job.call;
        match answer {
            Answer::Delivered(reply) => {
                webhook.failures = 0;
                webhook.failing_since = None;
                self.end(call, WebhookOutcome::Delivered, Some(*reply), None)?;
                Ok(Duration::ZERO)
            }
            Answer::Unsent(reason) => {
                let wait = waits::partner_wait(call.tries);
                let again = self.now.naive_utc() + wait.max(waits::message_wait(call.tries));
                self.postpone(call, again, None, reason)?;
                Ok(wait)
            }
            Answer::Later { reply, reason, .. } | Answer::Gone { reply, reason }
                if !same_target =>
            {
                // What a target that was replaced meanwhile answered says nothing of the one in its place.
                self.postpone(call, self.now.naive_utc(), Some(*reply), reason)?;
                Ok(Duration::ZERO)
            }
            Answer::Later {
                reply,
                reason,
                wait,
                maybe_taken,
            } => {
                self.tally.possible_duplicates += u64::from(*maybe_taken);
                let asked = wait.unwrap_or_default().min(LONGEST_WAIT);
                self.failed(webhook, call, *reply, asked, reason)?;
                Ok(asked.max(waits::partner_wait(webhook.failures)))
            }
            Answer::Gone { reply, reason } => {
                self.end(
                    call,
                    WebhookOutcome::Failed,
                    Some(*reply),
                    Some(reason.clone()),
                )?;
                self.disable(webhook, reason.clone())?;
                Ok(Duration::ZERO)
            }
        }
    }

    /// Tries a call again later, or gives it up when it was tried often enough; a webhook that has failed
    /// for days is switched off.
    fn failed(
        &mut self,
        webhook: &mut WebhookRow,
        call: &CallRow,
        reply: Reply,
        asked: Duration,
        reason: &str,
    ) -> QueryResult<()> {
        let at = self.now.naive_utc();
        webhook.failures += 1;
        let since = *webhook.failing_since.get_or_insert(at);
        if at - since >= PATIENCE {
            self.end(
                call,
                WebhookOutcome::Failed,
                Some(reply),
                Some(reason.to_owned()),
            )?;
            let reason = format!("It has failed for five days, at last so: {reason}");
            return self.disable(webhook, reason);
        }
        let next = waits::call_wait(call.tries).map(|wait| at + wait.max(asked));
        match next.filter(|next| *next < call.give_up_at) {
            Some(next) => self.postpone(call, next, Some(reply), reason),
            None => {
                let reason = Some(reason.to_owned());
                self.end(call, WebhookOutcome::Failed, Some(reply), reason)
            }
        }
    }

    fn postpone(
        &mut self,
        call: &CallRow,
        next: NaiveDateTime,
        reply: Option<Reply>,
        reason: &str,
    ) -> QueryResult<()> {
        let step = call.step + 1;
        if !queries::postpone(self.db, &call.delivery_id, step, next, reason)? {
            return Ok(());
        }
        let mut word = self.word(call, WebhookOutcome::Pending, reply);
        word.reason = Some(reason.to_owned());
        word.next_attempt_at = Some(next.and_utc());
        self.tell(call, &word)
    }

    /// Ends a call and tells of it, unless it had ended before.
    fn end(
        &mut self,
        call: &CallRow,
        outcome: WebhookOutcome,
        reply: Option<Reply>,
        reason: Option<String>,
    ) -> QueryResult<()> {
        let at = self.now.naive_utc();
        if !queries::settle(self.db, &call.delivery_id, call.step + 1, outcome, at)? {
            return Ok(());
        }
        let mut word = self.word(call, outcome, reply);
        word.reason = reason;
        self.tell(call, &word)
    }

    fn word(
        &self,
        call: &CallRow,
        outcome: WebhookOutcome,
        reply: Option<Reply>,
    ) -> WebhookAttempted {
        WebhookAttempted {
            webhook_id: call.webhook_id,
            delivery_id: call.delivery_id.parse().unwrap_or_default(),
            step: call.step + 1,
            outcome,
            attempts: call.attempts,
            status_code: reply.and_then(|reply| reply.status),
            duration_ms: reply
                .map(|reply| i64::try_from(reply.took.as_millis()).unwrap_or(i64::MAX)),
            reason: None,
            next_attempt_at: None,
            at: self.now,
        }
    }

    fn tell(&mut self, call: &CallRow, word: &WebhookAttempted) -> QueryResult<()> {
        self.tally.told.push(word.outcome);
        enqueue(self.db, SOURCE, self.now, call.request_id.clone(), word)
    }

    /// Switches a webhook off and has its owner told.
    fn disable(&mut self, webhook: &mut WebhookRow, reason: String) -> QueryResult<()> {
        queries::switch_off(self.db, webhook.webhook_id, self.now.naive_utc())?;
        OFF.clone_into(&mut webhook.state);
        webhook.sealed = None;
        self.tally.disabled += 1;
        let event = WebhookDisabled {
            webhook_id: webhook.webhook_id,
            revision: webhook.revision,
            reason,
        };
        enqueue(self.db, SOURCE, self.now, None, &event)
    }
}
