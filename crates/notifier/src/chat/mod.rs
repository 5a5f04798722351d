//! Telling a team's chat of sessions.
//!
//! `intake` has events written down as rows, as `arrivals` says, and lets the broker forget them. `ledger` is the only place that moves rows from one state to the next, by the rules in `moves`, `takeover` and `told`, several hooks
//! `together`, and tells of it in `words`; what one message tells of is said in `digest`;
//! `work` is what the scheduler runs: it holds a hook, has `sender` post one message, of one row or a digest of
//! several, and has the ledger write down what came of it. A hook is held by one process at a time, through a lease in its
//! row, so that pacing and `Retry-After` hold for all replicas together; that projects may share an address is seen to by
//! each process, in `addresses`.

mod addresses;
mod arrivals;
mod digest;
mod intake;
mod ledger;
mod model;
mod moves;
mod queries;
mod sender;
mod takeover;
mod together;
mod told;
mod words;
mod work;

pub(crate) use addresses::Addresses;
pub(crate) use intake::consume;
pub(crate) use ledger::Ledger;
pub(crate) use sender::Sender;

use std::sync::Arc;

use tokio::sync::Notify;

use crate::scheduler::Scheduler;

/// Starts to post what is due; `wake` is told when there is something.
pub(crate) fn schedule(ledger: Ledger, sender: Sender, wake: Arc<Notify>) -> Scheduler {
    Scheduler::spawn(work::Posting::new(ledger, sender), wake)
}
