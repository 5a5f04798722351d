//! What requests cost that are made all the time: statements of the database, of which each is a round trip on
//! PostgreSQL, and bytes on the wire. Not how long they take, which is `cargo xtask bench`'s.

use chrono::TimeDelta;
use serde_json::json;
use test_kit::TestBackend;

use crate::identity::Service;
use crate::person::{Person, honest};

struct Cost {
    method: &'static str,
    route: &'static str,
    /// With those that begin and commit.
    postgres: u64,
    /// Without those, which writes share.
    sqlite: u64,
}

impl Cost {
    /// Checks what the requests that `work` makes, one of this kind each time, need.
    async fn check(&self, service: &Service, work: impl AsyncFn()) {
        const TIMES: u64 = 4;
        let so_far = || service.api.statements(self.method, self.route);
        // What is read once in a while is read.
        work().await;
        let before = so_far().await;
        for _ in 0..TIMES {
            work().await;
        }
        let needed = so_far().await - before;
        let expected = match TestBackend::current() {
            TestBackend::Postgres => self.postgres,
            TestBackend::Sqlite => self.sqlite,
        };
        assert_eq!(needed, expected * TIMES, "{} {}", self.method, self.route);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_is_one_statement_a_submit_three_and_what_a_client_shows_two() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    let start = Cost {
        method: "POST",
        route: "/api/clienta_timer_start",
        postgres: 1,
        sqlite: 5,
    };
    start
        .check(&service, async || {
            ada.start_coding().await;
            service.clock.advance(TimeDelta::minutes(40));
        })
        .await;
    let submit = Cost {
        method: "POST",
        route: "/api/pomodoro/submit",
        postgres: 3,
        sqlite: 14,
    };
    submit
        .check(&service, async || {
            let started = ada.start_coding().await;
            service.clock.advance(TimeDelta::minutes(25));
            ada.submit(honest(&started, &service)).await.expect(200);
        })
        .await;
    let data = Cost {
        method: "GET",
        route: "/api/user/data",
        postgres: 2,
        sqlite: 2,
    };
    data.check(&service, async || drop(ada.data().await)).await;
    service.stop().await;
}

/// Every client gets them at each session and each look at its numbers. They have 277, 325 and 600 bytes, and 15 % more
/// as their bounds: a longer name has room, a further part or a list that grows has to be meant. The headers are those
/// of every answer of both services, and bounded where validate's are.
#[tokio::test(flavor = "multi_thread")]
async fn answers_to_a_start_a_submit_and_what_a_client_shows_are_as_long_as_what_they_say() {
    let (service, _stub) = Service::with_stub(0).await;
    let ada = Person::outsider(&service, 7);
    let plan = json!({"category": "coding", "duration": 25, "note": "the plan"});
    let started = ada.post("/api/clienta_timer_start", plan).await.expect(201);
    service.clock.advance(TimeDelta::minutes(25));
    let done = honest(&started.json(), &service);
    let submitted = ada.submit(done).await.expect(200);
    let data = ada.get("/api/user/data").await.expect(200);
    for (answer, most) in [(started, 320), (submitted, 375), (data, 690)] {
        let bytes = answer.body.len();
        assert!(bytes <= most, "{bytes} of {most} bytes: {}", answer.text());
    }
    service.stop().await;
}
