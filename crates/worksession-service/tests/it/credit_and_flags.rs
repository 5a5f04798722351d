//! What a wrong clock, a lost response or an unusual order must not change: work is credited, and implausible
//! sessions are flagged.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::caller::{Caller, changed, flags, honest, parse_time, statuses};
use crate::service_fixture::Service;

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_submit_with_a_wrong_clock_does_not_affect_the_running_session() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let plan = json!({"category": "coding", "duration": 25});
    let first = ada.start(plan.clone()).await;
    service.clock.advance(TimeDelta::minutes(25));
    // The body of the contract names no session, and this client takes its local time for UTC.
    let body = |started: &Value| {
        let local = |at: &Value| parse_time(at) + TimeDelta::hours(2);
        let honest = honest(started, &service);
        let times = json!({"start_time": local(&honest["start_time"]), "end_time": local(&honest["end_time"])});
        changed(changed(honest, &times), &json!({"session_id": null}))
    };
    let submit = body(&first);
    let answer = ada.submit(submit.clone()).await.expect(200).text();

    let second = ada.start(plan).await;
    service.clock.advance(TimeDelta::minutes(1));
    let again = ada.submit(submit).await.expect(200).text();
    assert_eq!(again, answer);
    assert_eq!(statuses(&service, 7), ["completed", "running"]);

    service.clock.advance(TimeDelta::minutes(24));
    let answer = ada.submit(body(&second)).await.expect(200).json();
    assert_eq!(answer["session_id"], second["session_id"]);
    assert_eq!(answer["credited_minutes"], 25);
    service.stop().await;
}

/// Starts a plan of eight hours at each of these hours.
async fn start_each(caller: &Caller<'_>, hours: &[i64]) -> Vec<Value> {
    let mut started = Vec::new();
    let mut now = 0;
    for (number, hour) in hours.iter().enumerate() {
        caller.service.clock.advance(TimeDelta::hours(hour - now));
        now = *hour;
        let plan = json!({"category": "coding", "duration": 480, "note": number.to_string()});
        started.push(caller.start(plan).await);
    }
    started
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_day_is_suspect_in_any_order_of_submits() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let orders = [[0, 1, 2], [2, 1, 0], [0, 2, 1], [2, 0, 1]];
    for (user, order) in (7..).zip(orders) {
        let caller = Caller::outsider(&service, user);
        let started = start_each(&caller, &[0, 5, 10]).await;
        service.clock.advance(TimeDelta::hours(5));
        let mut found = Vec::new();
        for number in order {
            let session = &started[number];
            let answer = caller.submit(honest(session, &service)).await;
            assert_eq!(answer.expect(200).json()["credited_minutes"], 300);
            found.push(flags(&service, &session["session_id"]));
        }
        let suspect = vec!["long_day:suspect".to_owned()];
        assert_eq!(found, [vec![], vec![], suspect], "{order:?}");
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_last_submit_hides_no_long_day() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    let started = start_each(&ada, &[0, 8]).await;
    ada.submit(honest(&started[0], &service)).await.expect(200);
    service.clock.advance(TimeDelta::hours(19));
    let last = &started[1];
    let answer = ada.submit(honest(last, &service)).await.expect(200).json();
    assert_eq!(answer["credited_minutes"], 480);
    assert_eq!(flags(&service, &last["session_id"]), ["long_day:suspect"]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_set_back_between_two_starts_costs_the_second_session_nothing() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
    ada.start(json!({"category": "meeting", "duration": 25}))
        .await;
    service.clock.advance(TimeDelta::seconds(-2));
    let started = ada.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let answer = ada.submit(honest(&started, &service)).await;
    assert_eq!(answer.expect(200).json()["credited_minutes"], 25);
    service.stop().await;
}
