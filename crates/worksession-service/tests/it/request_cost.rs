//! The cost of frequent requests: statements of the database, each a round trip on PostgreSQL, and bytes on the
//! wire. `cargo xtask bench` measures their time.

use chrono::TimeDelta;
use serde_json::json;
use test_kit::TestBackend;

use crate::caller::{Caller, honest};
use crate::service_fixture::Service;

struct Cost {
    method: &'static str,
    route: &'static str,
    /// Statements on PostgreSQL, including those that begin and commit.
    postgres: u64,
    /// Statements on SQLite without those, which writes share.
    sqlite: u64,
}

impl Cost {
    /// Checks the number of statements of the requests that `work` makes, one of this kind each time.
    async fn check(&self, service: &Service, work: impl AsyncFn()) {
        const TIMES: u64 = 4;
        let so_far = || service.api.statements(self.method, self.route);
        // The first run fills the caches.
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
async fn a_start_takes_one_statement_a_submit_three_and_user_data_two() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
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

/// Clients get these responses at each session and whenever they show the user's numbers. They have 277, 325 and 600 bytes.
/// The bounds are 15 % higher: a longer name fits, another field or a growing list does not. The headers are those of every
/// response of both services; the test of the validate endpoint bounds them.
#[tokio::test(flavor = "multi_thread")]
async fn responses_to_a_start_a_submit_and_user_data_stay_short() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let ada = Caller::outsider(&service, 7);
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
