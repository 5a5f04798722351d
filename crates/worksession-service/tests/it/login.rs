//! Sign-in through this service. `sign_in` in the crate `standalone` uses the real identity service.

use std::time::{Duration, Instant};

use broker::Broker;
use futures_util::future::join_all;
use serde_json::{Value, json};
use test_kit::ApiResponse;

use crate::failing_identity::{FailingIdentity, Failure, assert_unavailable};
use crate::fake_identity::FakeIdentity;
use crate::fake_sign_in::TOKENS;
use crate::service_fixture::Service;

async fn login(service: &Service, body: Value) -> ApiResponse {
    service.api.post("/api/login").json(body).send().await
}

fn credentials(username: &str) -> Value {
    json!({"username": username, "password": "pa55 word"})
}

#[tokio::test(flavor = "multi_thread")]
async fn login_forwards_the_token_pair_and_the_client_address() {
    let identity = FakeIdentity::default();
    let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
    for (proxies, address) in [("", "127.0.0.1"), ("127.0.0.0/8", "203.0.113.9")] {
        let settings = json!({"identity_url": identity_url, "trusted_proxies": proxies});
        let service = Service::with(settings, Broker::memory()).await;
        let body = json!({"username": "ada", "password": "pa55 word", "totp_code": "654321", "role": "admin"});
        let reply = service
            .api
            .post("/api/login")
            .header("x-forwarded-for", "198.51.100.1, 203.0.113.9")
            .header("user-agent", "desk/4.2 (b\u{e9}ta)")
            .header("x-request-id", "trace-9")
            .json(body)
            .send()
            .await
            .expect(200);
        assert_eq!(reply.text(), TOKENS);
        assert_eq!(reply.header("content-type"), "application/json");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("x-request-id"), "trace-9");
        service.stop().await;
        let sign_in = identity.sign_ins.lock().unwrap().pop().unwrap();
        assert_eq!(
            sign_in.body,
            json!({"username": "ada", "password": "pa55 word", "totp_code": "654321"})
        );
        assert_eq!(sign_in.forwarded_for, address);
        assert_eq!(sign_in.request_id, "trace-9");
        assert_eq!(sign_in.user_agent, "desk/4.2 (b\u{e9}ta)");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_in_is_returned_in_the_error_format_of_this_service() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let unavailable = "Authentication service unavailable";
    let table = [
        ("bob", 401, "Invalid credentials", ""),
        ("careful", 401, "TOTP code required", ""),
        ("odd", 400, "about validation_failed", ""),
        ("eager", 429, "Too many requests", "17"),
        ("late", 503, unavailable, "5"),
        ("page", 503, unavailable, "2"),
        ("moved", 503, unavailable, "2"),
        ("broken", 503, unavailable, "2"),
    ];
    for (name, status, sentence, wait) in table {
        let reply = login(&service, credentials(name)).await.expect(status);
        assert_eq!(reply.json(), json!({"error": sentence}), "{name}");
        assert_eq!(reply.header("retry-after"), wait, "{name}");
        assert_eq!(reply.header("cache-control"), "no-store");
    }
    assert_eq!(
        identity.sign_ins.lock().unwrap().len(),
        table.len(),
        "once each"
    );
    let mut with_code = credentials("careful");
    with_code["totp_code"] = json!("123456");
    login(&service, with_code).await.expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_sign_in_is_refused_without_calling_the_identity_service() {
    let (service, identity) = Service::with_fake_identity(0).await;
    for (body, sentence) in [
        (json!({}), "username is required"),
        (json!({"password": "x"}), "username is required"),
        (
            json!({"username": null, "password": "x"}),
            "username is required",
        ),
        (json!({"username": "ada"}), "password is required"),
        (
            json!({"username": "ada", "password": null}),
            "password is required",
        ),
    ] {
        let refused = login(&service, body).await.expect(400);
        assert_eq!(refused.json(), json!({"error": sentence}));
    }
    for body in [
        json!({"username": 7, "password": "x"}),
        json!({"username": "ada", "password": 7}),
        json!({"username": "ada", "password": ["x"]}),
        json!({"username": "ada", "password": "x", "totp_code": 123_456}),
        json!({"username": "a\0", "password": "x"}),
        json!({"username": "ada", "password": "x\0"}),
    ] {
        let refused = login(&service, body).await.expect(400).json();
        assert!(refused["error"].is_string(), "{refused}");
    }
    let call = || service.api.post("/api/login");
    for (kind, body, status) in [
        ("application/json", "{", 400),
        ("application/json", "[\"ada\",\"x\"]", 400),
        (
            "text/plain",
            "{\"username\":\"ada\",\"password\":\"x\"}",
            400,
        ),
        (
            "application/x-www-form-urlencoded",
            "username=ada&password=x",
            400,
        ),
    ] {
        let refused = call().body(kind, body).send().await.expect(status);
        assert!(refused.json()["error"].is_string());
    }
    let long = json!({"username": "ada", "password": "x".repeat(70_000)});
    call().json(long).send().await.expect(413);
    let wrong = service.api.get("/api/login").send().await.expect(405);
    assert_eq!(wrong.header("allow"), "POST");
    assert!(identity.sign_ins.lock().unwrap().is_empty());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_ins_fail_in_time_while_identity_is_down_and_work_at_once_afterwards() {
    for failure in [
        Failure::NobodyListens,
        Failure::TakesConnectionsAndIsSilent,
        Failure::ResetsConnections,
        Failure::Answers500,
    ] {
        let failing = FailingIdentity::start(failure).await;
        let service = Service::start(&format!("http://{}", failing.address), 0).await;
        let requests = join_all((0..100).map(|_| async {
            let began = Instant::now();
            assert_unavailable(&login(&service, credentials("ada")).await);
            began.elapsed()
        }));
        let longest = requests.await.into_iter().max().unwrap();
        assert!(
            longest < Duration::from_millis(2_500),
            "{failure:?}: {longest:?}"
        );
        // Sign-ins and validations share one breaker.
        if failure != Failure::Answers500 {
            // One of three at once may be the probe, which waits for an answer. The others are refused immediately.
            let refused = join_all((0..3).map(|_| async {
                let began = Instant::now();
                let call = service.api.get("/api/projects").bearer("user-");
                assert_unavailable(&call.send().await);
                began.elapsed()
            }));
            let mut times = refused.await;
            times.sort();
            assert!(
                times[1] < Duration::from_millis(200),
                "{failure:?}: {times:?}"
            );
        }
        failing.recover().await;
        test_kit::wait_until("a sign-in", Duration::from_secs(1), async || {
            (login(&service, credentials("ada")).await.status == 200).then_some(())
        })
        .await;
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_sign_ins_is_bounded_and_slows_no_validation() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let flood = join_all((0..300).map(|_| async {
        let began = Instant::now();
        (
            login(&service, credentials("patient")).await.status,
            began.elapsed(),
        )
    }));
    let others = async {
        let all_there = async || (identity.sign_ins.lock().unwrap().len() >= 256).then_some(());
        test_kit::wait_until("the flood", Duration::from_secs(3), all_there).await;
        for _ in 0..20 {
            let began = Instant::now();
            let call = service.api.get("/api/projects").bearer("user-");
            call.send().await.expect(200);
            assert!(
                began.elapsed() < Duration::from_millis(500),
                "{:?}",
                began.elapsed()
            );
        }
    };
    let (flood, ()) = futures_util::future::join(flood, others).await;
    // Sign-ins that take four seconds succeed, because the identity service does respond.
    let (in_time, refused): (Vec<_>, Vec<(u16, Duration)>) =
        flood.into_iter().partition(|reply| reply.0 == 200);
    assert_eq!((in_time.len(), refused.len()), (256, 44));
    assert!(
        refused
            .iter()
            .all(|reply| reply.0 == 503 && reply.1 < Duration::from_secs(3))
    );
    service.stop().await;
}
