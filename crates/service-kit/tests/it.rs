//! What the server guarantees to every service, on a real socket.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a plain client for a server on loopback"
)]

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use futures_util::FutureExt;
use serde_json::{Value, json};
use service_kit::http::{Json, Path, Query, endpoint};
use service_kit::metrics::Metrics;
use service_kit::server::{self, ReadyCheck, ReadyReport, RunningServer, ServerOptions};
use service_kit::{
    Problem,
    http::{BodyBudget, Limits},
};

async fn echo(body: Json<Value>) -> Result<HttpResponse, Problem> {
    Ok(HttpResponse::Ok().json(body.into_inner()?))
}

async fn numbers(
    Path((n,)): Path<(u32,)>,
    Query(query): Query<std::collections::HashMap<String, u8>>,
) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "n": n, "query": query.len() }))
}

async fn panics() -> HttpResponse {
    panic!("on purpose")
}

fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/api/echo").post(echo))
        .service(endpoint("/api/numbers/{n}").get(numbers))
        .service(endpoint("/api/panics").get(panics));
}

fn start() -> (RunningServer, String) {
    start_with(is_ready())
}

fn is_ready() -> ReadyCheck {
    Arc::new(|| {
        async {
            ReadyReport {
                ready: true,
                database: "connected".into(),
                broker: "memory".into(),
            }
        }
        .boxed()
    })
}

fn start_with(ready: ReadyCheck) -> (RunningServer, String) {
    let options = ServerOptions {
        name: "sample",
        listen: ([127, 0, 0, 1], 0).into(),
        base_url: String::new(),
        workers: 1,
        limits: Limits {
            json_bytes: 1000,
            ..Limits::default()
        },
        bodies: BodyBudget::new(None),
        cors_origins: vec!["https://app.example.com".to_owned()],
        origin_rule: None,
        trusted_proxies: Vec::new(),
        internal_secret: None,
        hsts_seconds: 0,
        render: |problem| json!({ "error": problem.code, "error_description": problem.message }),
        render_page: None,
        metrics: Metrics::new().unwrap(),
        ready,
        openapi: None,
        drain: Duration::ZERO,
    };
    let running = server::start(options, routes).unwrap();
    let base = format!("http://{}", running.addr());
    (running, base)
}

async fn error_of(answer: reqwest::Response) -> (u16, String) {
    let status = answer.status().as_u16();
    assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
    assert!(answer.headers().contains_key("x-request-id"));
    let body: Value = answer.json().await.expect("an error has a JSON body");
    assert!(
        body["error_description"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{body}"
    );
    (
        status,
        body["error"].as_str().unwrap_or_default().to_owned(),
    )
}

#[tokio::test]
async fn every_request_error_has_the_error_format_of_the_area() {
    let (running, base) = start();
    let client = reqwest::Client::new();
    let post = |kind: &'static str, body: Vec<u8>| {
        client
            .post(format!("{base}/api/echo"))
            .header("content-type", kind)
            .body(body)
            .send()
    };
    let json_type = "application/json; charset=utf-8";
    let cases: Vec<(&str, &'static str, Vec<u8>, u16)> = vec![
        ("truncated", json_type, b"{\"a\":".to_vec(), 400),
        ("empty", json_type, Vec::new(), 400),
        ("wrong type", "text/plain", b"{}".to_vec(), 400),
        ("bad UTF-8", json_type, b"{\"a\":\"\xff\"}".to_vec(), 400),
        ("NUL", json_type, b"{\"a\":\"\\u0000\"}".to_vec(), 400),
        ("too deep", json_type, vec![b'['; 900], 400),
        ("too large", json_type, vec![b' '; 1001], 413),
    ];
    for (case, kind, body, status) in cases {
        let (found, code) = error_of(post(kind, body).await.unwrap()).await;
        let wanted = if status == 413 {
            "payload_too_large"
        } else {
            "validation_failed"
        };
        assert_eq!((found, code.as_str()), (status, wanted), "{case}");
    }
    let get = |path: &str| client.get(format!("{base}{path}")).send();
    assert_eq!(
        error_of(get("/nowhere").await.unwrap()).await,
        (404, "not_found".into())
    );
    assert_eq!(
        error_of(get("/api/numbers/x").await.unwrap()).await,
        (404, "not_found".into())
    );
    assert_eq!(
        error_of(get("/api/numbers/%00").await.unwrap()).await,
        (404, "not_found".into())
    );
    assert_eq!(
        error_of(get("/api/numbers/%ff").await.unwrap()).await,
        (404, "not_found".into())
    );
    assert_eq!(
        error_of(get("/api/numbers/1?a=300").await.unwrap()).await,
        (400, "validation_failed".into())
    );
    assert_eq!(
        error_of(get("/api/panics").await.unwrap()).await,
        (500, "internal_error".into())
    );
    let wrong_method = client
        .delete(format!("{base}/api/numbers/1"))
        .send()
        .await
        .unwrap();
    assert_eq!(wrong_method.headers()["allow"], "GET, HEAD");
    assert_eq!(
        error_of(wrong_method).await,
        (405, "method_not_allowed".into())
    );
    let long = client
        .get(format!("{base}/api/numbers/1"))
        .header("x-long", "a".repeat(20_000))
        .send()
        .await
        .unwrap();
    assert_eq!(error_of(long).await, (431, "headers_too_large".into()));
    running.stop().await;
}

#[tokio::test]
async fn request_ids_probes_metrics_and_cors_work() {
    let (running, base) = start();
    let client = reqwest::Client::new();
    let with_id = |id: &'static str| {
        client
            .get(format!("{base}/api/numbers/1"))
            .header("x-request-id", id)
            .send()
    };
    let answer = with_id("abc-1.2_3").await.unwrap();
    assert_eq!(answer.headers()["x-request-id"], "abc-1.2_3");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    assert_ne!(
        with_id("no good").await.unwrap().headers()["x-request-id"],
        "no good"
    );
    let head = client
        .head(format!("{base}/api/numbers/1"))
        .send()
        .await
        .unwrap();
    assert_eq!(head.status(), 200);
    assert!(head.bytes().await.unwrap().is_empty());
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(
            client
                .get(format!("{base}{path}"))
                .send()
                .await
                .unwrap()
                .status(),
            200,
            "{path}"
        );
    }
    let metrics = client
        .get(format!("{base}/metrics"))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains(
            "http_requests_total{method=\"GET\",route=\"/api/numbers/{n}\",status=\"200\"}"
        ),
        "{metrics}"
    );
    let from = |origin: &'static str| {
        client
            .get(format!("{base}/api/numbers/1"))
            .header("origin", origin)
            .send()
    };
    assert_eq!(
        from("https://app.example.com").await.unwrap().headers()["access-control-allow-origin"],
        "https://app.example.com"
    );
    assert!(
        !from("https://evil.example.com")
            .await
            .unwrap()
            .headers()
            .contains_key("access-control-allow-origin")
    );
    running.stop().await;
}

#[tokio::test]
async fn cors_allows_the_request_headers_that_the_areas_read() {
    let (running, base) = start();
    let client = reqwest::Client::new();
    let asks_for = |headers: &'static str| {
        client
            .request(reqwest::Method::OPTIONS, format!("{base}/api/numbers/1"))
            .header("origin", "https://app.example.com")
            .header("access-control-request-method", "GET")
            .header("access-control-request-headers", headers)
            .send()
    };
    for headers in [
        "authorization",
        "content-type",
        "idempotency-key",
        "last-event-id",
        "x-request-id",
        "authorization,last-event-id",
    ] {
        let answer = asks_for(headers).await.unwrap();
        assert_eq!(answer.status(), 200, "{headers}");
        let allowed = answer.headers()["access-control-allow-headers"].to_str();
        let allowed = allowed.unwrap().to_lowercase();
        for header in headers.split(',') {
            assert!(allowed.contains(header), "{header} in {allowed}");
        }
    }
    assert_eq!(asks_for("x-other").await.unwrap().status(), 400);
    running.stop().await;
}

#[tokio::test]
async fn metrics_are_served_while_the_database_is_silent() {
    let figures = async |ready: ReadyCheck| {
        let (running, base) = start_with(ready);
        let answer = reqwest::get(format!("{base}/metrics")).await.unwrap();
        let figures = answer.text().await.unwrap();
        running.stop().await;
        figures
    };
    let silent: ReadyCheck = Arc::new(|| std::future::pending().boxed());
    let text = figures(silent).await;
    assert!(text.contains("\nservice_ready 0\n"), "{text}");
    let text = figures(is_ready()).await;
    assert!(text.contains("\nservice_ready 1\n"), "{text}");
}

/// Proxies keep idle connections to a service and send the next request over one of them. If that one is closed at that
/// moment, they answer 502.
#[tokio::test]
async fn an_idle_connection_stays_open_longer_than_proxies_keep_it() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let caddyfile = include_str!("../../../deploy/proxy/Caddyfile");
    let rests = caddyfile.split("\t\tkeepalive ").nth(1).unwrap();
    let rests: u64 = rests.split('s').next().unwrap().parse().unwrap();
    assert!(Duration::from_secs(rests) < server::KEEP_ALIVE);

    let (running, _) = start();
    let mut connection = tokio::net::TcpStream::connect(running.addr())
        .await
        .unwrap();
    let mut answer = [0; 4096];
    for longest_rest in [6, 0] {
        let request = b"GET /api/numbers/1 HTTP/1.1\r\nhost: sample\r\n\r\n";
        connection.write_all(request).await.unwrap();
        let count = connection.read(&mut answer).await.unwrap();
        assert!(answer[..count].starts_with(b"HTTP/1.1 200"));
        // Longer than the HTTP library keeps an idle connection by default.
        let longest_rest = Duration::from_secs(longest_rest);
        let closed = tokio::time::timeout(longest_rest, connection.read(&mut answer));
        assert!(closed.await.is_err(), "the connection was closed");
    }
    // An idle connection does not delay a stop.
    let stopping = tokio::time::timeout(Duration::from_secs(5), running.stop());
    stopping.await.expect("the server stops at once");
}

#[test]
fn a_base_url_may_have_a_path_before_the_routes() {
    for (address, is_good) in [
        ("https://example.com", true),
        ("https://example.com/", true),
        ("https://example.com/auth", true),
        ("http://localhost:8080/a-b/c_d/", true),
        ("https://example.com//auth", false),
        ("https://example.com/a//b", false),
        ("https://example.com/a;b", false),
        ("https://example.com/a%20b", false),
        ("https://example.com/auth?x", false),
        ("https://example.com/#auth", false),
        ("ftp://example.com/auth", false),
    ] {
        let url = address.parse().unwrap();
        assert_eq!(service_kit::config::is_base_url(&url), is_good, "{address}");
    }
}
