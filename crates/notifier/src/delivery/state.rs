//! The life of a delivery as one state machine, without clock or database; drawn in `docs/ARCHITECTURE.md`. An attempt is
//! made under a lease of the destination, and [`transition`] says what its answer means for the deliveries that it was of
//! and for the destination.

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

use super::waits::{destination_wait, message_wait};

/// Waits for its first or its next attempt.
pub(crate) const PENDING: &str = "pending";
/// An attempt is under way, or the process that made it has died.
pub(crate) const SENDING: &str = "sending";
/// Does not open before the operator gives the key.
pub(crate) const LOCKED: &str = "locked";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Delivered,
    Failed,
    /// There was nobody to tell.
    Skipped,
}

impl Ending {
    /// The delivery's state, and the label of its figure.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What came of an attempt. No reason holds an address, a link or what a server said in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The other side has it.
    Delivered,
    /// Later, perhaps.
    Later {
        reason: String,
        /// What the other side asked for.
        wait: Option<Duration>,
        /// It may have been taken all the same.
        maybe_taken: bool,
    },
    /// The other side never wants this message.
    Refused(String),
    /// The other side wants nothing any more.
    Gone(String),
    /// The operator has something to mend first.
    Blocked(String),
    /// There was no attempt: at a shared address it is not this project's turn before then.
    NotYet(NaiveDateTime),
    /// There was no attempt: the server is away, or the process stops.
    Untried(Option<String>),
}

/// How one medium treats its deliveries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// How long a destination is leased: longer than any attempt takes.
    pub(crate) lease: Duration,
    /// Between two attempts at one destination, at least.
    pub(crate) interval: Duration,
    /// The wait after so many attempts; none when they were enough.
    pub(crate) retry_wait: fn(i64) -> Option<Duration>,
    /// A destination that fails for so long, without a good answer in between, is switched off.
    pub(crate) patience: Option<TimeDelta>,
    /// A delivery that is blocked is locked, and has so much time from then on.
    pub(crate) locked_for: Option<Duration>,
    /// A settled delivery can be asked for again.
    pub(crate) keeps_payload: bool,
    /// The most deliveries that share a message.
    pub(crate) digest: i64,
    pub(crate) reasons: Reasons,
}

/// What is said of deliveries that end without an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reasons {
    /// Given up because the destination's settings did not come.
    pub(crate) unknown: &'static str,
    /// Given up because the other side asked for more time.
    pub(crate) resting: &'static str,
    pub(crate) disabled: &'static str,
    /// Deliveries to a removed destination are skipped; without a reason they are deleted.
    pub(crate) removed: Option<&'static str>,
}

/// What is known when an attempt is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) now: NaiveDateTime,
    /// The attempts so far, this one included.
    pub(crate) tries: i64,
    pub(crate) give_up_at: NaiveDateTime,
    /// Whether it was of several deliveries.
    pub(crate) is_digest: bool,
    /// Whether the destination is the one that was called. What a replaced one answered says nothing of its successor.
    pub(crate) is_current: bool,
    /// The destination's failures in a row before.
    pub(crate) failures: i64,
    pub(crate) failing_since: Option<NaiveDateTime>,
}

/// What an answer means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) delivery: Next,
    pub(crate) destination: Effect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    End(Ending, Option<String>),
    /// Is told again at that time, in the same message.
    Retry(NaiveDateTime, String),
    /// Is told again now, in a message of its own.
    Split(String),
    /// Waits as before, from then on.
    PutBack(Option<NaiveDateTime>, Option<String>),
    /// Waits for a key, and is tried with what there is at that time; given up at the later one.
    Lock(NaiveDateTime, NaiveDateTime, String),
}

/// What a destination does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// It works.
    Heard,
    /// It is left alone until then.
    Rest(NaiveDateTime),
    /// It failed once more, and is left alone until then.
    Fail(NaiveDateTime),
    /// It is switched off, and its owner told why.
    Disable(String),
}

/// A longer wait would overflow a date, and the delivery expires long before.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3_600);

pub(crate) fn transition(policy: &Policy, facts: &Facts, answer: &Answer) -> Transition {
    let now = facts.now;
    let (delivery, destination) = match answer {
        Answer::Delivered => (Next::End(Ending::Delivered, None), Effect::Heard),
        // One of them may be what the other side does not take; the others are told all the same.
        Answer::Refused(reason) if facts.is_digest => (Next::Split(reason.clone()), Effect::None),
        Answer::Refused(reason) => (failed(reason), Effect::None),
        Answer::NotYet(turn) if facts.is_current => {
            (Next::PutBack(None, None), Effect::Rest(*turn))
        }
        Answer::NotYet(_) => (Next::PutBack(None, None), Effect::None),
        Answer::Untried(reason) => (Next::PutBack(Some(now), reason.clone()), Effect::None),
        Answer::Blocked(reason) => blocked(policy, facts, reason),
        Answer::Later { reason, .. } | Answer::Gone(reason) if !facts.is_current => {
            (Next::Retry(now, reason.clone()), Effect::None)
        }
        Answer::Gone(reason) => (failed(reason), Effect::Disable(reason.clone())),
        Answer::Later { reason, wait, .. } => {
            later(policy, facts, reason, wait.unwrap_or_default())
        }
    };
    Transition {
        delivery,
        destination,
    }
}

fn failed(reason: &str) -> Next {
    Next::End(Ending::Failed, Some(reason.to_owned()))
}

fn blocked(policy: &Policy, facts: &Facts, reason: &str) -> (Next, Effect) {
    let at = facts.now + message_wait(facts.tries);
    let rest = Effect::Rest(facts.now + destination_wait(facts.tries));
    let next = match policy.locked_for {
        None => Next::Retry(at, reason.to_owned()),
        Some(time) => Next::Lock(at, facts.give_up_at.max(at + time), reason.to_owned()),
    };
    (next, rest)
}

fn later(policy: &Policy, facts: &Facts, reason: &str, asked: Duration) -> (Next, Effect) {
    let now = facts.now;
    let asked = asked.min(LONGEST_WAIT);
    let since = facts.failing_since.unwrap_or(now);
    if policy
        .patience
        .is_some_and(|patience| now - since >= patience)
    {
        let days = (now - since).num_days();
        let why = format!("It has failed for {days} days, at last so: {reason}");
        return (failed(reason), Effect::Disable(why));
    }
    let rest = Effect::Fail(now + asked.max(destination_wait(facts.failures + 1)));
    let again = (policy.retry_wait)(facts.tries).map(|wait| now + wait.max(asked));
    match again.filter(|again| *again < facts.give_up_at) {
        Some(again) => (Next::Retry(again, reason.to_owned()), rest),
        None => (failed(reason), rest),
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
