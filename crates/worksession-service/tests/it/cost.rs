//! What requests cost the database that are made all the time: statements, of which each is a round trip on PostgreSQL.
//! Not how long they take, which is `cargo xtask bench`'s.

use chrono::TimeDelta;
use test_kit::TestBackend;

use crate::identity::Service;
use crate::person::{Person, honest};

struct Cost {
    method: &'static str,
    route: &'static str,
    /// With those that begin and commit.
    postgres: u64,
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
        sqlite: 7,
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
        sqlite: 15,
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
