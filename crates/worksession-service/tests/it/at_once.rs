//! Starts and submits of different users, which the database executes together.

use std::collections::HashSet;

use chrono::TimeDelta;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use test_kit::TestBackend;

use crate::identity::Service;
use crate::locks::{Open, until_waiting};
use crate::person::{Person, honest};

/// More users than one batch holds.
const CROWD: i64 = 80;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_starts_and_submits_of_many_users_each_get_their_own_result() {
    let (service, _stub) = Service::with_stub(0).await;
    let crowd: Vec<_> = (100..100 + CROWD)
        .map(|id| Person::outsider(&service, id))
        .collect();
    let plan = |nth: usize| json!({"category": format!("c{nth}"), "duration": 10 + nth});
    // In the second round each user has a running timer, and every other user repeats that start.
    let mut before: Vec<Value> = Vec::new();
    for again in [false, true] {
        let starts = crowd.iter().enumerate().map(async |(nth, person)| {
            let repeats = again && nth % 2 == 0;
            let plan = plan(if again && !repeats { nth + 1 } else { nth });
            let reply = person.post("/api/session/start", plan).await;
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
    assert_eq!(ids.len(), crowd.len());
    service.clock.advance(TimeDelta::minutes(100));
    let submits = crowd.iter().zip(&before).map(async |(person, started)| {
        let answer = person.submit(honest(started, &service)).await.expect(200);
        assert_eq!(answer.json()["session_id"], started["session_id"]);
        let minutes = &person.data().await["session_stats"]["total_minutes"];
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
    let (service, _stub) = Service::with_stub(0).await;
    let [ada, eve, joe] = [7, 8, 9].map(|id| Person::outsider(&service, id));
    let held = "SELECT 1 FROM user_sync WHERE user_id IN (7, 8) FOR UPDATE";
    let mut started = Vec::new();
    for person in [&ada, &eve, &joe] {
        started.push(person.start_coding().await);
    }
    service.clock.advance(TimeDelta::minutes(25));
    let submit = async |person: &Person<'_>, nth: usize| {
        person.submit(honest(&started[nth], &service)).await
    };
    let lock = Open::begin(&service, held);
    // As many requests as there are threads that may wait.
    let waiting = join(submit(&ada, 0), submit(&eve, 1));
    let beside = async {
        until_waiting(&service, 2).await;
        submit(&joe, 2).await.expect(200);
        lock.commit();
    };
    let ((ada_submitted, eve_submitted), ()) = join(waiting, beside).await;
    ada_submitted.expect(200);
    eve_submitted.expect(200);

    // The second pair has no counter yet; another transaction is about to insert the first number.
    let first = "INSERT INTO user_sync (user_id, seq) VALUES (11, 1), (12, 1)";
    let [ann, bob] = [11, 12].map(|id| Person::outsider(&service, id));
    for (held, [one, other]) in [(held, [&ada, &eve]), (first, [&ann, &bob])] {
        let lock = Open::begin(&service, held);
        let waiting = join(one.start_coding(), other.start_coding());
        let beside = async {
            until_waiting(&service, 2).await;
            joe.start_coding().await;
            service.clock.advance(TimeDelta::minutes(1));
            lock.commit();
        };
        join(waiting, beside).await;
    }
    service.stop().await;
}
