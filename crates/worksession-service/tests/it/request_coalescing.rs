//! Starts and submits of different users, which the database executes together.

use std::collections::HashSet;

use chrono::TimeDelta;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use test_kit::TestBackend;

use crate::caller::{Caller, honest};
use crate::open_transaction::{OpenTransaction, until_lock_waits};
use crate::service_fixture::Service;

/// More users than one batch holds.
const USERS: i64 = 80;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_starts_and_submits_of_many_users_each_get_their_own_result() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let callers: Vec<_> = (100..100 + USERS)
        .map(|id| Caller::outsider(&service, id))
        .collect();
    let plan = |nth: usize| json!({"category": format!("c{nth}"), "duration": 10 + nth});
    // In the second round each user has a running timer, and every other user repeats that start.
    let mut before: Vec<Value> = Vec::new();
    for again in [false, true] {
        let starts = callers.iter().enumerate().map(async |(nth, caller)| {
            let repeats = again && nth % 2 == 0;
            let plan = plan(if again && !repeats { nth + 1 } else { nth });
            let reply = caller.post("/api/session/start", plan).await;
            reply.expect(if repeats { 200 } else { 201 }).json()
        });
        let started: Vec<Value> = join_all(starts).await;
        for (nth, (was, is)) in before.iter().zip(&started).enumerate() {
            assert_eq!(was["session_id"] == is["session_id"], nth % 2 == 0);
        }
        before = started;
    }
    let ids: HashSet<String> = before
        .iter()
        .map(|started| started["session_id"].to_string())
        .collect();
    assert_eq!(ids.len(), callers.len());
    service.clock.advance(TimeDelta::minutes(100));
    let submits = callers.iter().zip(&before).map(async |(caller, started)| {
        let answer = caller.submit(honest(started, &service)).await.expect(200);
        assert_eq!(answer.json()["session_id"], started["session_id"]);
        let minutes = &caller.data().await["session_stats"]["total_minutes"];
        (minutes.clone(), started["planned_duration"].clone())
    });
    for (nth, (minutes, planned)) in join_all(submits).await.into_iter().enumerate() {
        assert_eq!(minutes, 10 + nth + nth % 2, "{planned}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_a_users_lock_delays_no_other_user() {
    if TestBackend::current() == TestBackend::Sqlite {
        return;
    }
    let (service, _identity) = Service::with_fake_identity(0).await;
    let [ada, eve, joe] = [7, 8, 9].map(|id| Caller::outsider(&service, id));
    let lock_numbers = "SELECT 1 FROM user_sync WHERE user_id IN (7, 8) FOR UPDATE";
    let mut started = Vec::new();
    for caller in [&ada, &eve, &joe] {
        started.push(caller.start_coding().await);
    }
    service.clock.advance(TimeDelta::minutes(25));
    let submit = async |caller: &Caller<'_>, nth: usize| {
        caller.submit(honest(&started[nth], &service)).await
    };
    let lock = OpenTransaction::begin(&service, lock_numbers);
    // As many requests as there are threads that may wait.
    let waiting = join(submit(&ada, 0), submit(&eve, 1));
    let meanwhile = async {
        until_lock_waits(&service, 2).await;
        submit(&joe, 2).await.expect(200);
        lock.commit();
    };
    let ((ada_submitted, eve_submitted), ()) = join(waiting, meanwhile).await;
    ada_submitted.expect(200);
    eve_submitted.expect(200);

    // The second pair has no counter yet; another transaction is about to insert the first number.
    let first = "INSERT INTO user_sync (user_id, seq) VALUES (11, 1), (12, 1)";
    let [ann, bob] = [11, 12].map(|id| Caller::outsider(&service, id));
    for (lock_numbers, [one, other]) in [(lock_numbers, [&ada, &eve]), (first, [&ann, &bob])] {
        let lock = OpenTransaction::begin(&service, lock_numbers);
        let waiting = join(one.start_coding(), other.start_coding());
        let meanwhile = async {
            until_lock_waits(&service, 2).await;
            joe.start_coding().await;
            service.clock.advance(TimeDelta::minutes(1));
            lock.commit();
        };
        join(waiting, meanwhile).await;
    }
    service.stop().await;
}
