//! The state machine of a delivery, without a clock or a database; `docs/ARCHITECTURE.md` has its diagram. An attempt is
//! made under a lease of the destination. [`transition`] returns what its outcome means for the deliveries and the
//! destination.

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

use super::retry_schedule::{destination_wait, message_wait};

/// Waits for its first or next attempt.
pub(crate) const PENDING: &str = "pending";
/// An attempt is in progress, or its process has crashed.
pub(crate) const SENDING: &str = "sending";
/// Cannot be decrypted until the operator provides the key.
pub(crate) const LOCKED: &str = "locked";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinalState {
    Delivered,
    Failed,
    /// There was no recipient.
    Skipped,
}

impl FinalState {
    /// Returns the delivery's state, which is also the label of its metric.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// The outcome of an attempt. No reason contains an address, a link or text from a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    /// The other side has accepted the message.
    Delivered,
    /// The attempt failed, and a later one may succeed.
    Retry {
        reason: String,
        /// The wait that the other side asked for.
        wait: Option<Duration>,
        /// Whether the message may have been accepted anyway.
        maybe_accepted: bool,
    },
    /// The other side will never accept this message.
    Refused(String),
    /// The other side will never accept any message.
    Gone(String),
    /// The operator has to fix something first.
    NeedsOperator(String),
    /// There was no attempt, because the shared address is busy until then.
    AddressBusy(NaiveDateTime),
    /// There was no attempt, because the server is unavailable or the process stops.
    NotAttempted(Option<String>),
}

/// How a medium handles its deliveries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy {
    /// The duration of a lease, which is longer than any attempt.
    pub(crate) lease: Duration,
    /// The minimum interval between two attempts at one destination.
    pub(crate) interval: Duration,
    /// Returns the wait after this number of attempts; none after the last one.
    pub(crate) retry_wait: fn(i64) -> Option<Duration>,
    /// A destination that fails for this long, without a success in between, is disabled.
    pub(crate) disable_after: Option<TimeDelta>,
    /// If set, a blocked delivery is locked and its expiry extended by this time.
    pub(crate) locked_for: Option<Duration>,
    /// Whether payloads are kept for replays of settled deliveries.
    pub(crate) keeps_payload: bool,
    /// The maximum number of deliveries in one message.
    pub(crate) digest: i64,
    pub(crate) reasons: Reasons,
}

/// The reasons of deliveries that end without an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reasons {
    /// Expired because the settings of the destination did not arrive.
    pub(crate) unknown: &'static str,
    /// Expired because the other side asked for a longer wait.
    pub(crate) retry_after: &'static str,
    pub(crate) disabled: &'static str,
    /// The reason for skipping deliveries to a removed destination. Without one, they are deleted.
    pub(crate) removed: Option<&'static str>,
}

/// The state at the end of an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptFacts {
    pub(crate) now: NaiveDateTime,
    /// The number of attempts since the delivery was last requested, including this one.
    pub(crate) tries: i64,
    pub(crate) give_up_at: NaiveDateTime,
    /// Whether the message had several deliveries.
    pub(crate) is_digest: bool,
    /// Whether the destination is still the one that was called. The response of a replaced destination says nothing about
    /// the new one.
    pub(crate) is_current: bool,
    /// The destination's consecutive failures before this attempt.
    pub(crate) failures: i64,
    pub(crate) failing_since: Option<NaiveDateTime>,
}

/// The consequences of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) delivery: DeliveryTransition,
    pub(crate) destination: DestinationTransition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeliveryTransition {
    End(FinalState, Option<String>),
    /// Retried at that time, in the same message.
    Retry(NaiveDateTime, String),
    /// Retried now, in a message of its own.
    Split(String),
    /// Waits again as if there had been no attempt; due at that time, if one is given.
    Requeue(Option<NaiveDateTime>, Option<String>),
    /// Locked until its key is available: retried at the first time, expired at the second.
    Lock(NaiveDateTime, NaiveDateTime, String),
}

/// The consequence for the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DestinationTransition {
    None,
    /// It works.
    Succeed,
    /// It is not called until then.
    Delay(NaiveDateTime),
    /// It has failed once more, and is not called until then.
    Fail(NaiveDateTime),
    /// It is disabled, and its owner is told the reason.
    Disable(String),
}

/// Prevents an overflow of dates. The delivery expires long before.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3_600);
/// The longest wait that the other side can ask for. Otherwise one wrong header would stop all calls for years.
const LONGEST_REQUESTED_WAIT: Duration = Duration::from_secs(3_600);

/// Returns the wait that a response asks for, up to an hour.
pub(crate) fn requested_wait(asked: Option<Duration>) -> Option<Duration> {
    asked.map(|wait| wait.min(LONGEST_REQUESTED_WAIT))
}

pub(crate) fn transition(
    policy: &Policy,
    facts: &AttemptFacts,
    outcome: &AttemptOutcome,
) -> Transition {
    let (now, unchanged) = (facts.now, DestinationTransition::None);
    let (delivery, destination) = match outcome {
        AttemptOutcome::Delivered => (
            DeliveryTransition::End(FinalState::Delivered, None),
            DestinationTransition::Succeed,
        ),
        // The other side may refuse only one of them, so each is sent on its own.
        AttemptOutcome::Refused(reason) if facts.is_digest => {
            (DeliveryTransition::Split(reason.clone()), unchanged)
        }
        AttemptOutcome::Refused(reason) => (failed(reason), unchanged),
        AttemptOutcome::AddressBusy(until) if facts.is_current => (
            DeliveryTransition::Requeue(None, None),
            DestinationTransition::Delay(*until),
        ),
        AttemptOutcome::AddressBusy(_) => (DeliveryTransition::Requeue(None, None), unchanged),
        AttemptOutcome::NotAttempted(reason) => (
            DeliveryTransition::Requeue(Some(now), reason.clone()),
            unchanged,
        ),
        AttemptOutcome::NeedsOperator(reason) => blocked(policy, facts, reason),
        AttemptOutcome::Retry { reason, .. } | AttemptOutcome::Gone(reason)
            if !facts.is_current =>
        {
            (DeliveryTransition::Retry(now, reason.clone()), unchanged)
        }
        AttemptOutcome::Gone(reason) => (
            failed(reason),
            DestinationTransition::Disable(reason.clone()),
        ),
        AttemptOutcome::Retry { reason, wait, .. } => {
            retry_later(policy, facts, reason, wait.unwrap_or_default())
        }
    };
    Transition {
        delivery,
        destination,
    }
}

fn failed(reason: &str) -> DeliveryTransition {
    DeliveryTransition::End(FinalState::Failed, Some(reason.to_owned()))
}

fn blocked(
    policy: &Policy,
    facts: &AttemptFacts,
    reason: &str,
) -> (DeliveryTransition, DestinationTransition) {
    let at = facts.now + message_wait(facts.tries);
    let delay = DestinationTransition::Delay(facts.now + destination_wait(facts.tries));
    let next = match policy.locked_for {
        None => DeliveryTransition::Retry(at, reason.to_owned()),
        Some(time) => {
            DeliveryTransition::Lock(at, facts.give_up_at.max(at + time), reason.to_owned())
        }
    };
    (next, delay)
}

fn retry_later(
    policy: &Policy,
    facts: &AttemptFacts,
    reason: &str,
    least: Duration,
) -> (DeliveryTransition, DestinationTransition) {
    let now = facts.now;
    let least = least.min(LONGEST_WAIT);
    let failing_since = facts.failing_since.unwrap_or(now);
    if policy
        .disable_after
        .is_some_and(|disable_after| now - failing_since >= disable_after)
    {
        let days = (now - failing_since).num_days();
        let text = format!("Calls have failed for {days} days. Last error: {reason}");
        return (failed(reason), DestinationTransition::Disable(text));
    }
    let delay = DestinationTransition::Fail(now + least.max(destination_wait(facts.failures + 1)));
    let next = (policy.retry_wait)(facts.tries).map(|wait| now + wait.max(least));
    match next.filter(|next| *next < facts.give_up_at) {
        Some(next) => (DeliveryTransition::Retry(next, reason.to_owned()), delay),
        None => (failed(reason), delay),
    }
}

#[cfg(test)]
#[path = "state_machine_tests.rs"]
mod tests;
