//! What operators, proxies and browsers see: probes, metrics, headers, and the behaviour of the program.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use test_kit::{ApiClient, TestBackend, wait_until};

use crate::harness::{Options, System};
use crate::processes::{holdfast, quick};

const PARTS: [&str; 3] = ["identity", "worksession", "notifier"];

#[tokio::test(flavor = "multi_thread")]
async fn every_part_has_probes_and_metrics() {
    let system = System::start().await;
    let broker = match TestBackend::current() {
        TestBackend::Sqlite => "memory",
        TestBackend::Postgres => "connected",
    };
    for api in [&system.identity, &system.work, &system.notifier] {
        api.get("/health/live").send().await.expect(200);
        let ready = wait_until("readiness", Duration::from_secs(10), async || {
            let ready = api.get("/health/ready").send().await.expect(200).json();
            (ready["broker"] == broker).then_some(ready)
        });
        let ready = ready.await;
        assert_eq!(
            ready,
            json!({"ready": true, "database": "connected", "broker": broker})
        );
        let figures = api.get("/metrics").send().await.expect(200);
        assert!(
            figures
                .header("content-type")
                .starts_with("text/plain; version=0.0.4")
        );
        let figures = figures.text();
        let line = "http_requests_total{method=\"GET\",route=\"/health/live\",status=\"200\"} 1";
        assert!(figures.contains(line), "{figures}");
        assert!(figures.contains("\nservice_ready 1\n"), "{figures}");
        assert!(
            figures.contains("\ndatabase_refused_total 0\n"),
            "{figures}"
        );
        let memory = "\nprocess_resident_memory_bytes ";
        assert!(
            !cfg!(target_os = "linux") || figures.contains(memory),
            "{figures}"
        );
    }
    for api in [&system.work, &system.notifier] {
        let figures = api.get("/metrics").send().await.text();
        assert!(
            figures.contains("outbox"),
            "the backlog is a figure:\n{figures}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_label_a_route_by_its_pattern_and_never_by_its_path() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    system
        .identity
        .get("/api/teams/topsecretslug")
        .bearer(&ada.token)
        .send()
        .await
        .expect(404);
    system
        .identity
        .get("/api/topsecretpath")
        .send()
        .await
        .expect(404);
    let figures = system.identity.get("/metrics").send().await.text();
    assert!(
        figures.contains("route=\"/api/teams/{slug}\",status=\"404\""),
        "{figures}"
    );
    assert!(!figures.contains("topsecret"), "{figures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_openapi_document_and_its_page_need_no_other_server() {
    let system = System::start().await;
    for api in [&system.identity, &system.work] {
        let description = api.get("/openapi.json").send().await.expect(200).json();
        assert!(description["openapi"].as_str().unwrap().starts_with("3."));
        let page = api.get("/docs/").send().await.expect(200);
        assert!(page.header("content-type").starts_with("text/html"));
        assert!(
            !page.text().contains("https://"),
            "nothing is fetched from elsewhere:\n{}",
            page.text()
        );
        let script = api.get("/docs/swagger-ui-bundle.js").send().await;
        let script = script.expect(200);
        assert_eq!(script.header("content-encoding"), "gzip");
        assert!(script.text().contains("SwaggerUIBundle"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_request_id_is_echoed_and_any_other_replaced() {
    let system = System::start().await;
    for api in [&system.identity, &system.work, &system.notifier] {
        for path in ["/health/live", "/api/nothing"] {
            let sent = "req-0190.A_b";
            let echoed = api.get(path).header("x-request-id", sent).send().await;
            assert_eq!(echoed.header("x-request-id"), sent);
            let long = "x".repeat(500);
            for bad in ["", "a b", "a\tb", "<script>", "\u{e9}", &long] {
                let made = api.get(path).header("x-request-id", bad).send().await;
                let id = made.header("x-request-id");
                assert!(id != bad && id.len() >= 16, "{bad:?} became {id:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_are_not_sniffed_and_api_responses_not_stored() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    let replies = [
        system.identity.get("/health/live").send().await,
        system
            .identity
            .get("/api/auth/me")
            .bearer(&ada.token)
            .send()
            .await,
        system.identity.get("/api/auth/me").send().await,
        system.identity.get("/api/status").send().await,
        system
            .work
            .get("/api/user/data")
            .bearer(&ada.token)
            .send()
            .await,
        system.work.get("/metrics").send().await,
        system.work.get("/docs/").send().await,
        system.work.get("/nothing").send().await,
    ];
    for reply in &replies {
        assert_eq!(
            reply.header("x-content-type-options"),
            "nosniff",
            "{}",
            reply.call
        );
        if reply.call.contains("/api/") {
            assert_eq!(reply.header("cache-control"), "no-store", "{}", reply.call);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_responds_like_get_without_a_body() {
    let system = System::start().await;
    let ada = system.register_user("ada").await;
    for (api, path) in [
        (&system.identity, "/api/status"),
        (&system.identity, "/api/auth/me"),
        (&system.identity, "/health/live"),
        (&system.work, "/api/user/data"),
        (&system.work, "/api/health"),
        (&system.work, "/api/team-projects"),
    ] {
        let get = api.get(path).bearer(&ada.token).send().await;
        let head = api.call(Method::HEAD, path).bearer(&ada.token).send().await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        assert_eq!(
            head.header("content-type"),
            get.header("content-type"),
            "{path}"
        );
    }
    let refused = system
        .identity
        .call(Method::HEAD, "/api/auth/login")
        .send()
        .await;
    assert_eq!(refused.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_may_call_only_if_their_origin_is_configured() {
    let closed = System::start().await;
    let open = System::with(Options {
        identity: json!({"cors": {"allowed_origins": "https://app.example.com"}}),
        worksession: json!({"cors": {"allowed_origins": "https://app.example.com"}}),
        ..Options::default()
    })
    .await;
    let preflight = async |api: &ApiClient, origin: &str| {
        let call = api
            .call(Method::OPTIONS, "/api/auth/login")
            .header("origin", origin);
        let call = call.header("access-control-request-method", "POST");
        call.header(
            "access-control-request-headers",
            "authorization,content-type",
        )
        .send()
        .await
    };
    for api in [&closed.identity, &closed.work] {
        let reply = api
            .get("/api/status")
            .header("origin", "https://app.example.com")
            .send()
            .await;
        assert_eq!(reply.header("access-control-allow-origin"), "");
        let reply = preflight(api, "https://app.example.com").await;
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
    for api in [&open.identity, &open.work] {
        let reply = api
            .get("/api/status")
            .header("origin", "https://app.example.com")
            .send()
            .await;
        assert_eq!(
            reply.header("access-control-allow-origin"),
            "https://app.example.com"
        );
        assert!(
            reply.header("vary").to_lowercase().contains("origin"),
            "{:?}",
            reply.headers
        );
        let reply = preflight(api, "https://app.example.com").await;
        assert!((200..300).contains(&reply.status), "{}", reply.status);
        assert_eq!(
            reply.header("access-control-allow-origin"),
            "https://app.example.com"
        );
        let stranger = api
            .get("/api/status")
            .header("origin", "https://evil.example.com")
            .send()
            .await;
        assert_eq!(stranger.header("access-control-allow-origin"), "");
        let stranger = preflight(api, "https://app.example.com.evil.example").await;
        assert_eq!(stranger.header("access-control-allow-origin"), "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn holdfast_prints_its_three_addresses_and_nothing_else_and_stops_cleanly() {
    let data = tempfile::tempdir().unwrap();
    let mut env = quick();
    for part in ["IDENTITY", "WORKSESSION", "NOTIFIER"] {
        env.insert(format!("{part}__DRAIN_SECONDS"), "2".into());
    }
    let mut process = holdfast(data.path(), &["serve"], &env);
    let urls = process.wait_listening(&PARTS);
    let identity = ApiClient::new(&*urls["identity"]);
    identity.get("/health/ready").send().await.expect(200);

    process.signal("TERM");
    let asked = Instant::now();
    let draining = wait_until("draining", Duration::from_secs(2), async || {
        let reply = identity.get("/health/ready").send().await;
        (reply.status == 503).then_some(reply)
    });
    assert_eq!(draining.await.header("connection"), "close");
    identity.get("/api/status").send().await.expect(200);
    assert!(process.wait().success());
    assert!(
        (2..8).contains(&asked.elapsed().as_secs()),
        "{:?}",
        asked.elapsed()
    );

    let stdout = process.stdout();
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = ["identity", "notifier", "worksession"]
        .map(|name| format!("listening {name} {}", urls[name]))
        .into();
    assert_eq!(lines, expected);
    for key in ["secrets.key", "identity-keys.key"] {
        let mode = std::fs::metadata(data.path().join(key))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_setting_stops_the_start_with_one_line_that_names_it() {
    let data = tempfile::tempdir().unwrap();
    for (key, value) in [
        ("IDENTITY__LISTENN", "127.0.0.1:0"),
        ("WORKSESSION__DATABASE__POOL_SIZE", "many"),
        ("NOTIFIER__BROKER__URL", "redis://nowhere"),
        ("IDENTITY__PASSWORD__BCRYPT_COST", "99"),
        ("WORKSESSION__SECRETS__ENCRYPTION_KEY", "c2hvcnQ="),
        ("IDENTITY__HOUSEKEEPING_SECONDS", "0"),
        ("WORKSESSION__SWEEP_SECONDS", "0"),
        ("NOTIFIER__DATABASE__POOL_SIZE", "0"),
    ] {
        for command in ["serve", "check-config"] {
            let mut env = quick();
            env.insert(key.into(), value.into());
            let mut process = holdfast(data.path(), &[command], &env);
            assert_eq!(process.wait().code(), Some(1), "{key}");
            let errors = process.stderr();
            let line = errors.lines().last().unwrap_or_default().to_lowercase();
            let name = key.rsplit("__").next().unwrap().to_lowercase();
            assert!(
                line.contains(&name) && errors.lines().count() == 1,
                "{key}: {errors}"
            );
            assert_eq!(process.stdout(), "");
            assert!(!errors.contains("c2hvcnQ"), "{errors}");
        }
    }
    assert!(
        holdfast(data.path(), &["check-config"], &quick())
            .wait()
            .success()
    );
    assert!(
        holdfast(data.path(), &["migrate"], &quick())
            .wait()
            .success()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_data_is_created_once_and_its_sign_in_works() {
    let data = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut process = holdfast(data.path(), &["serve", "--demo"], &quick());
        let urls = process.wait_listening(&PARTS);
        let sign_in = wait_until("the sign-in", Duration::from_secs(5), async || {
            let line = process
                .stderr()
                .lines()
                .find(|line| line.starts_with("demo sign-in: "))?
                .to_owned();
            Some(line)
        })
        .await;
        let (name, password) = sign_in
            .trim_start_matches("demo sign-in: ")
            .split_once(" / ")
            .unwrap();
        let body = json!({"username": name, "password": password});
        let tokens = ApiClient::new(&*urls["identity"])
            .post("/api/auth/login")
            .json(body)
            .send()
            .await
            .expect(200)
            .json();
        let token = tokens["access_token"].as_str().unwrap();
        let work = ApiClient::new(&*urls["worksession"]);
        let data = work
            .get("/api/user/data")
            .bearer(token)
            .send()
            .await
            .expect(200)
            .json();
        assert!(
            data["session_stats"]["total_sessions"].as_i64().unwrap() > 150,
            "{data}"
        );
        assert!(data["points"]["total"].as_f64().unwrap() > 500.0, "{data}");
        assert!(data["badges"].as_array().unwrap().len() >= 3, "{data}");
        let projects = work
            .get("/api/all-projects")
            .bearer(token)
            .send()
            .await
            .expect(200)
            .json();
        assert_eq!(
            projects["projects"].as_array().unwrap().len(),
            2,
            "{projects}"
        );
        seen.push((sign_in, data));
        assert!(process.terminate().success());
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn checking_the_configuration_reports_zeros_and_a_file_as_the_data_directory() {
    let zeros = [
        "IDENTITY__DATABASE__POOL_SIZE",
        "IDENTITY__WORKERS",
        "WORKSESSION__DATABASE__POOL_SIZE",
        "WORKSESSION__LIMITS__JSON_BYTES",
        "WORKSESSION__LIMITS__LARGE_BODIES_MIB",
        "NOTIFIER__DATABASE__POOL_SIZE",
    ];
    test_kit::assert_check_config_reports(env!("CARGO_BIN_EXE_holdfast"), &[], &zeros);
}

#[test]
fn checking_the_configuration_writes_nothing() {
    let public = [
        ("IDENTITY__BASE_URL", "https://id.example.com"),
        ("WORKSESSION__BASE_URL", "https://work.example.com"),
    ];
    for variables in [&[][..], &public] {
        test_kit::assert_check_config_writes_nothing(env!("CARGO_BIN_EXE_holdfast"), variables);
    }
}
