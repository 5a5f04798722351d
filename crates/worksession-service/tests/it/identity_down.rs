//! Each way in which the identity service can fail: requests are refused in time, however many there are; threads do
//! not accumulate; and requests succeed again at once.
//!
//! The program itself runs, so that its threads can be counted.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use test_kit::{ApiClient, ApiResponse, Process, TestDb, wait_until};

use crate::failing_identity::{FailingIdentity, Failure, assert_unavailable};
use crate::service_fixture::Service;

const CALLS: usize = 1_000;
/// The two seconds of the contract, plus what a thousand requests take themselves.
const IN_TIME: Duration = Duration::from_millis(2_500);
const RECOVERY_TIME: Duration = Duration::from_secs(1);

/// The program, which validates tokens at `identity`.
struct Program {
    process: Process,
    api: ApiClient,
    _database: TestDb,
    _data: tempfile::TempDir,
}

impl Program {
    fn start(identity: SocketAddr) -> Self {
        let (database, data) = (TestDb::empty("worksession"), tempfile::tempdir().unwrap());
        let process = Process::start(
            Path::new(env!("CARGO_BIN_EXE_worksession-service")),
            &["--data-dir", data.path().to_str().unwrap()],
            [
                ("WORKSESSION__LISTEN", "127.0.0.1:0"),
                ("WORKSESSION__DATABASE__URL", database.url()),
                // No broker listens there; requests need none.
                ("WORKSESSION__BROKER__URL", "amqp://127.0.0.1:1"),
                ("WORKSESSION__IDENTITY_URL", &format!("http://{identity}")),
                ("RUST_LOG", "error"),
            ],
        );
        let urls = process.wait_listening(&["worksession"]);
        Self {
            api: ApiClient::new(&*urls["worksession"]),
            process,
            _database: database,
            _data: data,
        }
    }

    fn threads(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap();
        let line = status.lines().find(|line| line.starts_with("Threads:"));
        line.unwrap()
            .split_whitespace()
            .nth(1)
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Returns how many requests were answered within 2.5 s, according to the program's metrics.
    async fn count_in_time(&self) -> usize {
        let metrics = self.api.get("/metrics").send().await.text();
        let bucket = r#"http_request_duration_seconds_bucket{route="/api/projects",le="2.5"} "#;
        let line = metrics.lines().find_map(|line| line.strip_prefix(bucket));
        line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
    }

    async fn request(&self) -> ApiResponse {
        self.api.get("/api/projects").bearer("user-").send().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_identity_is_down_requests_fail_in_time_and_recover_at_once_afterwards() {
    for failure in [
        Failure::NobodyListens,
        Failure::TakesConnectionsAndIsSilent,
        Failure::ResetsConnections,
        Failure::Answers500,
        Failure::AnswersRubbish,
    ] {
        let failing = FailingIdentity::start(failure).await;
        let program = Program::start(failing.address);
        // From now on, the threads that responses and the database need exist.
        assert_unavailable(&program.request().await);
        let before = program.threads();

        let calls = join_all((0..CALLS).map(|_| async {
            let began = Instant::now();
            assert_unavailable(&program.request().await);
            began.elapsed()
        }));
        let (mut waits, (probes, threads)) = tokio::join!(calls, probe(&program));
        waits.sort_unstable();
        let (median, late, longest) = (waits[CALLS / 2], waits[CALLS * 99 / 100], waits[CALLS - 1]);
        let live = probes[probes.len() * 9 / 10];
        println!(
            "{failure:?}: answers p50 {median:?} p99 {late:?} max {longest:?}, live p90 {live:?} \
             max {:?}, threads {before} -> {threads}",
            probes[probes.len() - 1]
        );
        // By the program's own clock: the thousand clients of this process take time too.
        assert_eq!(
            program.count_in_time().await,
            CALLS + 1,
            "{failure:?}: {longest:?}"
        );
        assert!(longest < IN_TIME * 2, "{failure:?}: {longest:?}");
        assert!(threads <= before + 4, "{failure:?}: {before} -> {threads}");
        assert!(live < Duration::from_millis(100), "{failure:?}: {probes:?}");

        // With an open breaker nobody waits; one call per quarter of a second probes the identity service.
        let quick = join_all((0..20).map(|_| async {
            let began = Instant::now();
            assert_unavailable(&program.request().await);
            began.elapsed()
        }));
        let mut quick = quick.await;
        quick.sort_unstable();
        assert!(
            quick[15] < Duration::from_millis(500),
            "{failure:?}: {quick:?}"
        );

        failing.recover().await;
        let back = Instant::now();
        wait_until("the first answer", RECOVERY_TIME, async || {
            (program.request().await.status == 200).then_some(())
        })
        .await;
        println!("{failure:?}: back after {:?}", back.elapsed());
        let all = join_all((0..50).map(|_| program.request())).await;
        assert!(all.iter().all(|reply| reply.status == 200), "{failure:?}");
    }
}

/// Returns the times of liveness probes, and the highest number of threads, while the calls wait.
async fn probe(program: &Program) -> (Vec<Duration>, usize) {
    let (mut probes, mut threads) = (Vec::new(), 0);
    for _ in 0..40 {
        let began = Instant::now();
        program.api.get("/health/live").send().await.expect(200);
        probes.push(began.elapsed());
        threads = threads.max(program.threads());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    probes.sort_unstable();
    (probes, threads)
}

#[tokio::test(flavor = "multi_thread")]
async fn health_report_and_metrics_show_that_identity_is_down() {
    let failing = FailingIdentity::start(Failure::NobodyListens).await;
    let service = Service::start(&format!("http://{}", failing.address), 0).await;
    for _ in 0..5 {
        let reply = service
            .api
            .get("/api/projects")
            .bearer("user-")
            .send()
            .await;
        assert_unavailable(&reply);
    }
    let read_metrics = async || service.api.get("/metrics").send().await.text();
    let metrics = read_metrics().await;
    assert!(metrics.contains("identity_circuit_open 1"), "{metrics}");
    assert!(metrics.contains("identity_failures_total 5"), "{metrics}");
    let report = service.api.get("/api/health").send().await.expect(503);
    let issues = report.json()["issues"].as_array().unwrap().clone();
    assert!(
        issues.contains(&json!("Authentication service unreachable")),
        "{issues:?}"
    );
    failing.recover().await;
    wait_until("an answer", RECOVERY_TIME, async || {
        let call = service.api.get("/api/projects").bearer("user-");
        (call.send().await.status == 200).then_some(())
    })
    .await;
    let metrics = read_metrics().await;
    assert!(metrics.contains("identity_circuit_open 0"), "{metrics}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_identity_service_never_opens_the_breaker() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let request = async |token: &'static str| {
        let began = Instant::now();
        let call = service.api.get("/api/projects").bearer(token);
        (call.send().await.status, began.elapsed())
    };
    // Just below the time limit.
    for reply in join_all((0..4).map(|_| request("slow-1900"))).await {
        assert_eq!(reply.0, 200, "{:?}", reply.1);
    }
    // Three times the calls allowed at once: after waiting for a slot, less time is left than a response takes.
    let slow = join_all((0..768).map(|_| request("slow-1200"))).await;
    let answered = slow.iter().filter(|reply| reply.0 == 200).count();
    let refused = slow.iter().filter(|reply| reply.0 == 503).count();
    println!("slow: {answered} answered, {refused} refused");
    assert_eq!(answered + refused, slow.len());
    assert!(answered >= 100 && refused >= 256, "{answered}");
    assert!(slow.iter().all(|reply| reply.1 < Duration::from_secs(4)));
    // With an open breaker, most of these would be refused.
    let now = join_all((0..20).map(|_| service.api.get("/api/projects").bearer("user-").send()));
    assert!(now.await.iter().all(|reply| reply.status == 200));
    let metrics = service.api.get("/metrics").send().await.text();
    assert!(metrics.contains("identity_circuit_open 0"), "{metrics}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unexpected_response_about_one_token_does_not_affect_others() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for odd in ["400", "404", "413", "429", "431"] {
        for _ in 0..10 {
            assert_unavailable(&service.api.get("/api/projects").bearer(odd).send().await);
        }
        let good = service
            .api
            .get("/api/projects")
            .bearer("user-")
            .send()
            .await;
        good.expect(200);
    }
    service.stop().await;
}
