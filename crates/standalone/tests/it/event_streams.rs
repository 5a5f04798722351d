//! The event stream with the real identity service, in a real process.

use std::time::{Duration, Instant};

use serde_json::json;
use test_kit::ApiClient;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::PASSWORD;
use crate::processes::{holdfast, quick};

/// A stream, read as it arrives.
struct Stream {
    connection: TcpStream,
    read: String,
}

impl Stream {
    async fn open(work: &ApiClient, token: &str) -> Self {
        let address = work.base().strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        let read = String::new();
        let mut stream = Self { connection, read };
        stream.until("event: hello").await;
        stream
    }

    /// Reads until that text has arrived.
    async fn until(&mut self, text: &str) {
        let mut chunk = [0; 4_096];
        while !self.read.contains(text) {
            let more = self.connection.read(&mut chunk);
            let length = tokio::time::timeout(Duration::from_secs(20), more).await;
            let length = length.unwrap_or_else(|_| panic!("no {text} in {}", self.read));
            let length = length.unwrap();
            assert_ne!(length, 0, "no {text} in {}", self.read);
            self.read
                .push_str(&String::from_utf8_lossy(&chunk[..length]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_out_ends_its_streams_and_sigterm_the_others() {
    let data = tempfile::tempdir().unwrap();
    let mut env = quick();
    env.insert("WORKSESSION__LIVE__RECHECK_SECONDS".into(), "1".into());
    let mut process = holdfast(data.path(), &["serve"], &env);
    let urls = process.wait_listening(&["identity", "worksession", "notifier"]);
    let (identity, work) = (
        ApiClient::new(&*urls["identity"]),
        ApiClient::new(&*urls["worksession"]),
    );
    let body = json!({"username": "ada", "password": PASSWORD});
    let sign_in = async |path: &str, status| {
        let answer = identity.post(path).json(body.clone()).send().await;
        let tokens = answer.expect(status).json();
        tokens["access_token"].as_str().unwrap().to_owned()
    };
    let phone = sign_in("/api/auth/register", 201).await;
    let tablet = sign_in("/api/auth/login", 200).await;
    let mut of_phone = Stream::open(&work, &phone).await;
    let mut of_tablet = Stream::open(&work, &tablet).await;

    let plan = json!({"category": "coding", "duration": 25});
    let start = work.post("/api/session/start").bearer(&phone).json(plan);
    start.send().await.expect(201);
    of_phone.until("event: timer").await;
    of_tablet.until("event: timer").await;

    let logout = identity.post("/api/auth/logout").bearer(&phone);
    logout.send().await.expect(200);
    of_phone
        .until("event: end\ndata: {\"reason\":\"revoked\"}")
        .await;

    let began = Instant::now();
    process.signal("TERM");
    of_tablet
        .until("event: end\ndata: {\"reason\":\"shutdown\"}")
        .await;
    assert!(process.wait().success());
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "streams hold it up: {took:?}"
    );
}
