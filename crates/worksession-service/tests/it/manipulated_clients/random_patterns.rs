//! Random patterns of starts and submits: plans that are replaced, left early, submitted late, twice, or with false claims.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::measured_user::MeasuredUser;
use crate::service_fixture::Service;

#[derive(Clone, Debug)]
enum Step {
    /// Starts a plan of so many minutes, which ends the running one.
    Start(i64),
    /// Lets milliseconds pass.
    Pass(i64),
    /// Submits one of the sessions, maybe once more: with its own times, or claiming the whole plan.
    Submit(Index, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let plan = || prop_oneof![4 => 1..=6_i64, 1 => Just(25_i64)];
    prop_oneof![
        3 => plan().prop_map(Step::Start),
        // A time just short of a plan is the most profitable.
        3 => (plan(), 0..=6_000_i64).prop_map(|(minutes, short)| Step::Pass(minutes * 60_000 - short)),
        1 => (0..120_000_i64).prop_map(Step::Pass),
        3 => (any::<Index>(), any::<bool>()).prop_map(|(which, claims)| Step::Submit(which, claims)),
    ]
}

#[test]
fn no_pattern_of_starts_and_submits_earns_more_than_two_percent_above_the_clock() {
    let runtime = Runtime::new().unwrap();
    let (service, _identity) = runtime.block_on(Service::with_fake_identity(0));
    let id = Cell::new(9_000);
    proptest!(ProptestConfig::with_cases(32), |(steps in prop::collection::vec(step(), 1..30))| {
        id.set(id.get() + 1);
        let user = MeasuredUser::new(&service, id.get());
        runtime.block_on(play(&user, &steps));
    });
    runtime.block_on(service.stop());
}

async fn play(user: &MeasuredUser<'_>, steps: &[Step]) {
    let mut started: Vec<Value> = Vec::new();
    for step in steps {
        match step {
            Step::Start(minutes) => {
                let note = started.len().to_string();
                started.push(user.start_noted(*minutes, &note).await);
            }
            Step::Pass(millis) => user.pass_millis(*millis),
            Step::Submit(which, claims) if !started.is_empty() => {
                let session = which.get(&started);
                let plan = session["presession"]["planned_duration"].as_i64().unwrap();
                let reply = if *claims {
                    user.submit_times(session, 0, plan * 60).await
                } else {
                    user.submit_with(session, &json!({})).await
                };
                // It may have been submitted before with other times.
                assert!([200, 409].contains(&reply.status), "{}", reply.text());
            }
            Step::Submit(..) => {}
        }
    }
    user.check_earnings(&format!("{steps:?}")).await;
}
