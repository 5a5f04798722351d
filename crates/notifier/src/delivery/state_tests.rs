use chrono::DateTime;
use proptest::prelude::*;

use super::*;
use crate::delivery::waits::call_wait;

const REASONS: Reasons = Reasons {
    unknown: "unknown",
    resting: "resting",
    disabled: "disabled",
    removed: None,
};

const POLICY: Policy = Policy {
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    retry_wait: call_wait,
    patience: Some(TimeDelta::days(5)),
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
    AttemptOutcome::Later {
        reason: "busy".to_owned(),
        wait: Some(Duration::from_secs(wait)),
        maybe_taken: false,
    }
}

fn after(
    facts: AttemptFacts,
    answer: &AttemptOutcome,
) -> (DeliveryTransition, DestinationTransition) {
    let then = transition(&POLICY, &facts, answer);
    (then.delivery, then.destination)
}

fn retry(seconds: i64) -> DeliveryTransition {
    DeliveryTransition::Retry(now() + TimeDelta::seconds(seconds), "busy".to_owned())
}

#[test]
fn a_failure_is_retried_after_the_requested_wait_until_attempts_run_out() {
    let rest = |seconds| DestinationTransition::Fail(now() + TimeDelta::seconds(seconds));
    assert_eq!(after(facts(), &later(0)), (retry(5), rest(2)));
    assert_eq!(after(facts(), &later(60)), (retry(60), rest(60)));
    let last = AttemptFacts {
        tries: 10,
        failures: 9,
        ..facts()
    };
    assert_eq!(after(last, &later(0)), (failed("busy"), rest(60)));
    let too_late = AttemptFacts {
        give_up_at: now() + TimeDelta::seconds(5),
        ..facts()
    };
    assert_eq!(after(too_late, &later(0)).0, failed("busy"));
}

#[test]
fn a_destination_is_disabled_when_it_is_gone_or_has_failed_for_days() {
    let gone = AttemptOutcome::Gone("gone".to_owned());
    let disabled = DestinationTransition::Disable("gone".to_owned());
    assert_eq!(after(facts(), &gone), (failed("gone"), disabled));
    let long = AttemptFacts {
        failing_since: Some(now() - TimeDelta::days(5)),
        ..facts()
    };
    let (next, DestinationTransition::Disable(why)) = after(long, &later(0)) else {
        panic!("it is on");
    };
    assert_eq!(next, failed("busy"));
    assert!(why.ends_with("at last so: busy"), "{why}");
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
    let rest = DestinationTransition::Rest(now() + TimeDelta::seconds(2));
    assert_eq!(after(facts(), &blocked), (retry(2), rest.clone()));
    let day = Duration::from_secs(86_400);
    let locks = Policy {
        locked_for: Some(day),
        ..POLICY
    };
    let over = AttemptFacts {
        give_up_at: now(),
        ..facts()
    };
    let at = now() + TimeDelta::seconds(2);
    let locked = DeliveryTransition::Lock(at, at + day, "busy".to_owned());
    let then = transition(&locks, &over, &blocked);
    assert_eq!((then.delivery, then.destination), (locked, rest));
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
        for answer in [AttemptOutcome::NotItsTurn(now()), AttemptOutcome::NotAttempted(None)] {
            let (next, _) = after(facts, &answer);
            prop_assert!(matches!(next, DeliveryTransition::PutBack(..)), "{next:?}");
        }
        let (next, effect) = after(facts, &AttemptOutcome::NeedsOperator("key".to_owned()));
        prop_assert!(matches!(next, DeliveryTransition::Retry(..)), "{next:?}");
        prop_assert!(matches!(effect, DestinationTransition::Rest(_)), "{effect:?}");
    }
}
