use std::time::Duration;

use db_kit::DbError;

use super::gate::Gate;
use super::ledger::Ledger;
use super::model::{Answer, MailRow};
use super::sender::{Line, Sender};
use crate::scheduler::{Stopping, Work};

/// The most connections to the mail server.
const CONNECTIONS: usize = 4;

/// Sending what the ledger says, one connection a run.
#[derive(Clone)]
pub(super) struct Mailing {
    ledger: Ledger,
    sender: Sender,
    gate: Gate,
}

impl Mailing {
    pub(super) fn new(ledger: Ledger, sender: Sender, gate: Gate) -> Self {
        Self {
            ledger,
            sender,
            gate,
        }
    }
}

impl Work for Mailing {
    type Job = MailRow;
    type Answer = Answer;
    type Line = Line;

    const NAME: &'static str = "mails";
    const AT_A_TIME: usize = CONNECTIONS;

    fn room(&self, busy: usize) -> usize {
        let most = if self.gate.is_open() { CONNECTIONS } else { 1 };
        most.saturating_sub(busy)
    }

    async fn next_due(&self) -> Result<Option<Duration>, DbError> {
        let due = self.ledger.next_due().await?;
        Ok(due.map(|due| due.max(self.gate.closed_for())))
    }

    async fn lease(&self, limit: i64) -> Result<Vec<MailRow>, DbError> {
        self.ledger.lease(limit).await
    }

    async fn act(&self, line: &mut Line, job: &MailRow, stopping: &Stopping) -> Answer {
        self.sender.send(line, &self.gate, job, stopping).await
    }

    async fn settle(
        &self,
        job: &MailRow,
        answer: &Answer,
        keep: bool,
    ) -> Result<Option<MailRow>, DbError> {
        let keep = keep && self.gate.is_open();
        self.ledger.settle(job, answer, keep).await
    }

    async fn hang_up(&self, line: Line) {
        line.close().await;
    }

    async fn keep_house(&self) -> Result<(), DbError> {
        self.ledger.keep_house().await
    }
}
