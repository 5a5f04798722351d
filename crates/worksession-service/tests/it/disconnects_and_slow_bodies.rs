//! Requests whose client disconnects, or whose body arrives slowly.

use std::time::Duration;

use serde_json::{Value, json};
use test_kit::{ApiClient, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::caller::Caller;
use crate::database;
use crate::service_fixture::Service;

const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends a request without the last byte of its body.
async fn send_partly(
    api: &ApiClient,
    method: &str,
    path: &str,
    token: &str,
    body: &Value,
) -> TcpStream {
    let address = api.base().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = body.to_string();
    let (sent, length) = (&body[..body.len() - 1], body.len());
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{sent}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integrations_creator_is_checked_even_if_the_client_disconnects() {
    let (service, identity) = Service::with_fake_identity(0).await;
    identity.set_session("app7", false, None);
    let lock = identity.existence_lock.lock().await;
    let body = json!({"url": "https://hooks.example/x"});
    let mut stream = send_partly(&service.api, "POST", "/api/webhooks", "app-7", &body).await;
    stream.write_all(b"}").await.unwrap();
    wait_until("the webhook", TIMEOUT, async || {
        let sql = "SELECT count(*) AS number FROM webhooks";
        (database::count(&service, sql) == 1).then_some(())
    })
    .await;
    // Closes with a reset, instead of after what the service still sends.
    stream.set_zero_linger().unwrap();
    drop(stream);
    // Once the service answers later requests, its threads have seen the reset.
    for _ in 0..10 {
        service.api.get("/health/live").send().await.expect(200);
    }
    drop(lock);
    let ada = Caller::member(&service, 7);
    wait_until("the webhook to be paused", TIMEOUT, async || {
        let list = ada.get("/api/webhooks").await.expect(200).json();
        (list["webhooks"][0]["status"] == "paused").then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_checked_again_after_a_slow_body() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let project = format!("/api/team-projects/{}", service.team_project().await);
    let start = json!({"category": "coding", "duration": 25});
    for (method, path, body, alias, status) in [
        ("POST", "/api/session/start", start, "bad", "401"),
        ("PUT", &project, json!({"name": "X"}), "bad", "401"),
        // A manager who has become a member gets 408: the repeated request is refused.
        ("PUT", &project, json!({"name": "X"}), "colleague-7", "408"),
        ("PUT", &project, json!({"name": "X"}), "member-7", "200"),
    ] {
        identity.answer_like("member-7", "member-7");
        let mut stream = send_partly(&service.api, method, path, "member-7", &body).await;
        // A body that takes this long counts as slow.
        tokio::time::sleep(Duration::from_millis(700)).await;
        identity.answer_like("member-7", alias);
        stream.write_all(b"}").await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(answer, format!("HTTP/1.1 {status}"), "{path} {alias}");
    }
    let sql = "SELECT count(*) AS number FROM sessions";
    assert_eq!(database::count(&service, sql), 0);
    service.stop().await;
}
