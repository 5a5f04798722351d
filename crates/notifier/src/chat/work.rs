use std::time::Duration;

use db_kit::DbError;

use super::ledger::Ledger;
use super::model::{Answer, Job};
use super::sender::Sender;
use crate::scheduler::{Stopping, Work};

/// The most hooks that are posted to at once.
const HOOKS_AT_ONCE: usize = 128;

/// Posting what the ledger says, one hook a run.
#[derive(Clone)]
pub(super) struct Posting {
    ledger: Ledger,
    sender: Sender,
}

impl Posting {
    pub(super) fn new(ledger: Ledger, sender: Sender) -> Self {
        Self { ledger, sender }
    }
}

impl Work for Posting {
    type Job = Job;
    type Answer = Answer;
    type Line = ();

    const NAME: &'static str = "notifications";
    const AT_A_TIME: usize = 32;

    fn room(&self, busy: usize) -> usize {
        HOOKS_AT_ONCE.saturating_sub(busy)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        self.ledger.next_due().await
    }

    async fn lease(&self, limit: i64) -> Result<Vec<Job>, DbError> {
        self.ledger.lease(limit).await
    }

    async fn act(&self, (): &mut (), job: &Job, _: &Stopping) -> Answer {
        self.sender.send(job).await
    }

    async fn settle(&self, job: &Job, answer: &Answer, keep: bool) -> Result<Option<Job>, DbError> {
        self.ledger.settle(job, answer, keep).await
    }

    async fn keep_house(&self) -> Result<(), DbError> {
        self.ledger.keep_house().await
    }
}
