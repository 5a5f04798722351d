//! Every way in which the identity service can fail: requests are refused in time, however many there are; nothing
//! piles up; and its return is noticed at once.
//!
//! The program itself runs, so that its threads can be counted.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use test_kit::{ApiClient, ApiResponse, Process, TestDb, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::identity::{Service, Stub};

const CROWD: usize = 1_000;
/// The two seconds of the contract, plus what a crowd of requests takes itself.
const IN_TIME: Duration = Duration::from_millis(2_500);
const BACK_WITHIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    NobodyListens,
    TakesConnectionsAndIsSilent,
    ResetsConnections,
    Answers500,
    AnswersRubbish,
}

/// An identity service that fails in this way until it is dropped.
pub struct Away {
    pub address: SocketAddr,
    /// Bound without listening, so that no other test gets the port.
    place: TcpSocket,
    task: Option<JoinHandle<()>>,
}

impl Away {
    pub async fn start(way: Way) -> Self {
        let place = TcpSocket::new_v4().unwrap();
        place.set_reuseaddr(true).unwrap();
        place.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = place.local_addr().unwrap();
        let listener = match way {
            Way::NobodyListens => None,
            _ => Some(TcpListener::bind(address).await.unwrap()),
        };
        let task = listener.map(|listener| {
            tokio::spawn(async move {
                // Accepted connections close when this task ends.
                let (mut held, mut answering) = (Vec::new(), JoinSet::new());
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    match way {
                        Way::Answers500 => {
                            answering.spawn(answer(stream, "500 Internal Server Error", "{}"));
                        }
                        Way::AnswersRubbish => {
                            answering.spawn(answer(stream, "200 OK", "<html>"));
                        }
                        Way::ResetsConnections => {
                            // A close without lingering sends a reset.
                            stream.set_zero_linger().unwrap();
                        }
                        Way::NobodyListens | Way::TakesConnectionsAndIsSilent => held.push(stream),
                    }
                }
            })
        });
        Self {
            address,
            place,
            task,
        }
    }

    /// Stops it and starts a working one on the same address.
    pub async fn comes_back(self) -> Stub {
        if let Some(task) = self.task {
            task.abort();
            drop(task.await);
        }
        let stub = Stub::default();
        stub.start(&self.address.to_string());
        drop(self.place);
        stub
    }
}

async fn answer(mut stream: TcpStream, status: &'static str, body: &'static str) {
    let mut seen = [0; 4_096];
    while let Ok(1..) = stream.read(&mut seen).await {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

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
    async fn in_time(&self) -> usize {
        let figures = self.api.get("/metrics").send().await.text();
        let bucket = r#"http_request_duration_seconds_bucket{route="/api/projects",le="2.5"} "#;
        let line = figures.lines().find_map(|line| line.strip_prefix(bucket));
        line.unwrap_or_else(|| panic!("{figures}")).parse().unwrap()
    }

    async fn ask(&self) -> ApiResponse {
        self.api.get("/api/projects").bearer("user-").send().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_identity_is_down_requests_fail_in_time_and_recover_at_once_afterwards() {
    for way in [
        Way::NobodyListens,
        Way::TakesConnectionsAndIsSilent,
        Way::ResetsConnections,
        Way::Answers500,
        Way::AnswersRubbish,
    ] {
        let away = Away::start(way).await;
        let program = Program::start(away.address);
        // From now on, the threads that responses and the database need exist.
        assert_unavailable(&program.ask().await);
        let before = program.threads();

        let crowd = join_all((0..CROWD).map(|_| async {
            let asked = Instant::now();
            assert_unavailable(&program.ask().await);
            asked.elapsed()
        }));
        let (mut waits, (lives, threads)) = tokio::join!(crowd, watch(&program));
        waits.sort_unstable();
        let (median, late, longest) = (waits[CROWD / 2], waits[CROWD * 99 / 100], waits[CROWD - 1]);
        let live = lives[lives.len() * 9 / 10];
        println!(
            "{way:?}: answers p50 {median:?} p99 {late:?} max {longest:?}, live p90 {live:?} \
             max {:?}, threads {before} -> {threads}",
            lives[lives.len() - 1]
        );
        // By the program's own clock: the thousand clients of this process take time too.
        assert_eq!(program.in_time().await, CROWD + 1, "{way:?}: {longest:?}");
        assert!(longest < IN_TIME * 2, "{way:?}: {longest:?}");
        assert!(threads <= before + 4, "{way:?}: {before} -> {threads}");
        assert!(live < Duration::from_millis(100), "{way:?}: {lives:?}");

        // With an open breaker nobody waits; one call per quarter of a second probes the identity service.
        let quick = join_all((0..20).map(|_| async {
            let asked = Instant::now();
            assert_unavailable(&program.ask().await);
            asked.elapsed()
        }));
        let mut quick = quick.await;
        quick.sort_unstable();
        assert!(quick[15] < Duration::from_millis(500), "{way:?}: {quick:?}");

        away.comes_back().await;
        let back = Instant::now();
        wait_until("the first answer", BACK_WITHIN, async || {
            (program.ask().await.status == 200).then_some(())
        })
        .await;
        println!("{way:?}: back after {:?}", back.elapsed());
        let all = join_all((0..50).map(|_| program.ask())).await;
        assert!(all.iter().all(|reply| reply.status == 200), "{way:?}");
    }
}

/// Returns the times of liveness probes, and the highest number of threads, while a crowd waits.
async fn watch(program: &Program) -> (Vec<Duration>, usize) {
    let (mut lives, mut threads) = (Vec::new(), 0);
    for _ in 0..40 {
        let asked = Instant::now();
        program.api.get("/health/live").send().await.expect(200);
        lives.push(asked.elapsed());
        threads = threads.max(program.threads());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    lives.sort_unstable();
    (lives, threads)
}

#[tokio::test(flavor = "multi_thread")]
async fn health_report_and_metrics_show_that_identity_is_down() {
    let away = Away::start(Way::NobodyListens).await;
    let service = Service::start(&format!("http://{}", away.address), 0).await;
    for _ in 0..5 {
        let reply = service
            .api
            .get("/api/projects")
            .bearer("user-")
            .send()
            .await;
        assert_unavailable(&reply);
    }
    let figures = async || service.api.get("/metrics").send().await.text();
    let told = figures().await;
    assert!(told.contains("identity_circuit_open 1"), "{told}");
    assert!(told.contains("identity_failures_total 5"), "{told}");
    let report = service.api.get("/api/health").send().await.expect(503);
    let issues = report.json()["issues"].as_array().unwrap().clone();
    assert!(
        issues.contains(&json!("Authentication service unreachable")),
        "{issues:?}"
    );
    away.comes_back().await;
    wait_until("an answer", BACK_WITHIN, async || {
        let call = service.api.get("/api/projects").bearer("user-");
        (call.send().await.status == 200).then_some(())
    })
    .await;
    let told = figures().await;
    assert!(told.contains("identity_circuit_open 0"), "{told}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_identity_service_never_opens_the_breaker() {
    let (service, _stub) = Service::with_stub(0).await;
    let ask = async |token: &'static str| {
        let asked = Instant::now();
        let call = service.api.get("/api/projects").bearer(token);
        (call.send().await.status, asked.elapsed())
    };
    // Just below the time limit.
    for reply in join_all((0..4).map(|_| ask("slow-1900"))).await {
        assert_eq!(reply.0, 200, "{:?}", reply.1);
    }
    // Three times the calls allowed at once: after waiting for a slot, less time is left than a response takes.
    let slow = join_all((0..768).map(|_| ask("slow-1200"))).await;
    let answered = slow.iter().filter(|reply| reply.0 == 200).count();
    let refused = slow.iter().filter(|reply| reply.0 == 503).count();
    println!("slow: {answered} answered, {refused} refused");
    assert_eq!(answered + refused, slow.len());
    assert!(answered >= 100 && refused >= 256, "{answered}");
    assert!(slow.iter().all(|reply| reply.1 < Duration::from_secs(4)));
    // With an open breaker, most of these would be refused.
    let now = join_all((0..20).map(|_| service.api.get("/api/projects").bearer("user-").send()));
    assert!(now.await.iter().all(|reply| reply.status == 200));
    let figures = service.api.get("/metrics").send().await.text();
    assert!(figures.contains("identity_circuit_open 0"), "{figures}");
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unexpected_response_about_one_token_does_not_affect_others() {
    let (service, _stub) = Service::with_stub(0).await;
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

#[track_caller]
pub fn assert_unavailable(reply: &ApiResponse) {
    assert_eq!(reply.status, 503, "{}: {}", reply.call, reply.text());
    assert_eq!(
        reply.json(),
        json!({"error": "Authentication service unavailable"})
    );
    let wait = reply.header("retry-after").parse::<u64>();
    assert!(wait.is_ok_and(|seconds| seconds >= 1));
}
