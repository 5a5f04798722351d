use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::delivery::retry_schedule::call_wait;

const REASONS: Reasons = Reasons {
    unknown: "unknown",
    retry_after: "retry after",
    disabled: "disabled",
    removed: None,
};

const POLICY: Policy = Policy {
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    retry_wait: call_wait,
    disable_after: Some(TimeDelta::days(5)),
    locked_for: None,
    keeps_payload: false,
    digest: 20,
    reasons: REASONS,
};

fn now() -> NaiveDateTime {
    DateTime::UNIX_EPOCH.naive_utc()
}

fn facts() -> AttemptFacts {
    AttemptFacts {
        now: now(),
        tries: 1,
        give_up_at: now() + TimeDelta::days(5),
        is_digest: false,
        is_current: true,
        failures: 0,
        failing_since: None,
    }
}

fn later(wait: u64) -> AttemptOutcome {
    AttemptOutcome::Retry {
        reason: "busy".to_owned(),
        wait: Some(Duration::from_secs(wait)),
        maybe_accepted: false,
    }
}

fn after(
    facts: AttemptFacts,
    outcome: &AttemptOutcome,
) -> (DeliveryTransition, DestinationTransition) {
    let next = transition(&POLICY, &facts, outcome);
    (next.delivery, next.destination)
}

fn retry(seconds: i64) -> DeliveryTransition {
    DeliveryTransition::Retry(now() + TimeDelta::seconds(seconds), "busy".to_owned())
}

#[test]
fn a_failure_is_retried_after_the_requested_wait_until_attempts_run_out() {
    let delay = |seconds| DestinationTransition::Fail(now() + TimeDelta::seconds(seconds));
    assert_eq!(after(facts(), &later(0)), (retry(5), delay(2)));
    assert_eq!(after(facts(), &later(60)), (retry(60), delay(60)));
    let last = AttemptFacts {
        tries: 10,
        failures: 9,
        ..facts()
    };
    assert_eq!(after(last, &later(0)), (failed("busy"), delay(60)));
    let too_late = AttemptFacts {
        give_up_at: now() + TimeDelta::seconds(5),
        ..facts()
    };
    assert_eq!(after(too_late, &later(0)).0, failed("busy"));
}

#[test]
fn the_other_side_can_ask_for_an_hour_at_most() {
    for (asked, granted) in [(60, 60), (3_600, 3_600), (3_601, 3_600), (u64::MAX, 3_600)] {
        let asked = requested_wait(Some(Duration::from_secs(asked)));
        assert_eq!(asked, Some(Duration::from_secs(granted)));
    }
    assert_eq!(requested_wait(None), None);
}

#[test]
fn a_destination_is_disabled_when_it_is_gone_or_has_failed_for_days() {
    let gone = AttemptOutcome::Gone("gone".to_owned());
    let disabled = DestinationTransition::Disable("gone".to_owned());
    assert_eq!(after(facts(), &gone), (failed("gone"), disabled));
    let failing = AttemptFacts {
        failing_since: Some(now() - TimeDelta::days(5)),
        ..facts()
    };
    let (delivery, DestinationTransition::Disable(reason)) = after(failing, &later(0)) else {
        panic!("it is not disabled");
    };
    assert_eq!(delivery, failed("busy"));
    assert_eq!(reason, "Calls have failed for 5 days. Last error: busy");
}

#[test]
fn an_answer_of_a_replaced_destination_means_a_retry_with_its_successor() {
    let replaced = AttemptFacts {
        is_current: false,
        ..facts()
    };
    assert_eq!(
        after(replaced, &later(60)),
        (retry(0), DestinationTransition::None)
    );
    let gone = AttemptOutcome::Gone("busy".to_owned());
    assert_eq!(
        after(replaced, &gone),
        (retry(0), DestinationTransition::None)
    );
}

#[test]
fn a_refusal_ends_one_delivery_and_splits_a_digest() {
    let refused = AttemptOutcome::Refused("bad".to_owned());
    assert_eq!(
        after(facts(), &refused),
        (failed("bad"), DestinationTransition::None)
    );
    let digest = AttemptFacts {
        is_digest: true,
        ..facts()
    };
    let split = DeliveryTransition::Split("bad".to_owned());
    assert_eq!(
        after(digest, &refused),
        (split, DestinationTransition::None)
    );
}

#[test]
fn a_problem_for_the_operator_is_no_failure_of_the_destination() {
    let blocked = AttemptOutcome::NeedsOperator("busy".to_owned());
    let delay = DestinationTransition::Delay(now() + TimeDelta::seconds(2));
    assert_eq!(after(facts(), &blocked), (retry(2), delay.clone()));
    let day = Duration::from_secs(86_400);
    let locking_policy = Policy {
        locked_for: Some(day),
        ..POLICY
    };
    let expired = AttemptFacts {
        give_up_at: now(),
        ..facts()
    };
    let at = now() + TimeDelta::seconds(2);
    let locked = DeliveryTransition::Lock(at, at + day, "busy".to_owned());
    let next = transition(&locking_policy, &expired, &blocked);
    assert_eq!((next.delivery, next.destination), (locked, delay));
}

proptest! {
    #[test]
    fn only_an_answer_of_the_receiver_ends_a_delivery(tries in 1_i64..20, days in 0_i64..9, current: bool, digest: bool) {
        let facts = AttemptFacts {
            tries,
            is_digest: digest,
            is_current: current,
            failing_since: Some(now() - TimeDelta::days(days)),
            ..facts()
        };
        for outcome in [AttemptOutcome::AddressBusy(now()), AttemptOutcome::NotAttempted(None)] {
            let (delivery, _) = after(facts, &outcome);
            prop_assert!(matches!(delivery, DeliveryTransition::Requeue(..)), "{delivery:?}");
        }
        let (delivery, destination) = after(facts, &AttemptOutcome::NeedsOperator("key".to_owned()));
        prop_assert!(matches!(delivery, DeliveryTransition::Retry(..)), "{delivery:?}");
        prop_assert!(matches!(destination, DestinationTransition::Delay(_)), "{destination:?}");
    }
}
