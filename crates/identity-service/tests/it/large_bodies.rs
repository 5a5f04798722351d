//! Large bodies that never end. Those of one account leave memory for the others, and all together have a limit.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::json;
use test_kit::images::{jpeg, png};
use test_kit::{raw_request, wait_until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Identity, PASSWORD, SignedIn};

const MIB: usize = 1024 * 1024;
/// Longer than any test takes, so that no unfinished body times out.
const NEVER: u64 = 600;

/// A request with an unfinished body, up to the last byte that is sent.
struct Hostile {
    name: &'static str,
    path: String,
    head: String,
    body: Vec<u8>,
}

/// Returns every way in which one account can send a large body.
fn hostile(user: &SignedIn) -> Vec<Hostile> {
    let profile = format!("/api/auth/user/{}", user.id);
    let photo = format!("{profile}/profile-photo");
    let announced = |bytes: usize| format!("Content-Length: {bytes}\r\n");
    let chunk = [b"11170\r\n".to_vec(), vec![b' '; 70_000], b"\r\n".to_vec()].concat();
    let chunked = "Transfer-Encoding: chunked\r\n".to_owned();
    let json = "Content-Type: application/json\r\n";
    let form = "Content-Type: multipart/form-data; boundary=line\r\n";
    let field = b"--line\r\nContent-Disposition: form-data; name=\"photo\"\r\n\r\n".to_vec();
    let all = [
        ("JSON", &profile, announced(8 * MIB) + json, b"{".to_vec()),
        (
            "JSON of which nothing comes",
            &profile,
            announced(8 * MIB) + json,
            Vec::new(),
        ),
        (
            "JSON in chunks",
            &profile,
            chunked.clone() + json,
            chunk.clone(),
        ),
        ("a file", &photo, announced(5 * MIB), b"GIF89a".to_vec()),
        ("a file in chunks", &photo, chunked.clone(), chunk),
        ("a form", &photo, announced(5 * MIB) + form, field.clone()),
        (
            "a form in chunks",
            &photo,
            chunked + form,
            b"1\r\n-\r\n".to_vec(),
        ),
        (
            "a file after asking",
            &photo,
            announced(5 * MIB) + "Expect: 100-continue\r\n",
            field,
        ),
    ];
    let all = all.into_iter().map(|(name, path, head, body)| Hostile {
        name,
        path: path.clone(),
        head,
        body,
    });
    all.collect()
}

impl Hostile {
    /// Sends the request, and returns the connection with its response.
    async fn send(&self, identity: &Identity, user: &SignedIn) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(identity.running.addr()).await.unwrap();
        let request = format!(
            "PUT {} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {}\r\n{}\r\n",
            self.path, user.access, self.head
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let _ = stream.write_all(&self.body).await;
        let mut answer = String::new();
        while !answer.contains("\r\n\r\n") || answer.ends_with("100 Continue\r\n\r\n") {
            let mut chunk = [0; 4096];
            let length = stream.read(&mut chunk).await.unwrap();
            assert!(length > 0, "{}: {answer}", self.name);
            answer += &String::from_utf8_lossy(&chunk[..length]);
        }
        (stream, answer.replace("HTTP/1.1 100 Continue\r\n\r\n", ""))
    }
}

fn assert_is_full(answer: &str, name: &str) {
    assert!(answer.starts_with("HTTP/1.1 503"), "{name}: {answer}");
    let answer = answer.to_ascii_lowercase();
    assert!(answer.contains("retry-after: 5"), "{name}: {answer}");
    assert!(answer.contains("\"unavailable\""), "{name}: {answer}");
}

async fn upload(identity: &Identity, user: &SignedIn, file: Vec<u8>) -> u16 {
    let path = format!("/api/auth/user/{}/profile-photo", user.id);
    let call = identity.api.put(&path).bearer(&user.access);
    call.body("image/png", file).send().await.status
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_of_one_account_leave_room_for_the_others() {
    let identity = Identity::start_with(|config| {
        config.limits.large_bodies_mib = Some(24);
        config.limits.body_seconds = NEVER;
    })
    .await;
    let ada = identity.register("ada").await;
    let bob = identity.register("bob").await;
    let file = || [png(64, 64), vec![0; 3 * MIB]].concat();
    for hostile in hostile(&ada) {
        let sent: FuturesUnordered<_> = (0..25).map(|_| hostile.send(&identity, &ada)).collect();
        let mut answers = sent.take(23);
        while let Some((_, answer)) = answers.next().await {
            assert_is_full(&answer, hostile.name);
        }
        // Two bodies are still unfinished.
        identity.validate(&ada.access).await.expect(200);
        identity.login("ada", PASSWORD).await.expect(200);
        assert_eq!(
            upload(&identity, &bob, file()).await,
            200,
            "{}",
            hostile.name
        );
        drop(answers);
        // Both permits are free once the server has noticed that the connections are closed.
        let free = async || (upload(&identity, &ada, file()).await == 200).then_some(());
        wait_until("a free place", Duration::from_secs(10), free).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_large_bodies_share_a_limit_and_unfinished_ones_time_out() {
    let identity = Identity::start_with(|config| {
        config.limits.large_bodies_mib = Some(16);
        config.limits.body_seconds = 2;
    })
    .await;
    let (ada, bob) = (
        identity.register("ada").await,
        identity.register("bob").await,
    );
    let json = |user| hostile(user).swap_remove(0);
    let (of_ada, of_bob) = (json(&ada), json(&bob));
    let mut sent: FuturesUnordered<_> = (0..3).map(|_| of_ada.send(&identity, &ada)).collect();
    let (_, answer) = sent.next().await.unwrap();
    assert_is_full(&answer, "the third of one account");
    let (_, answer) = of_bob.send(&identity, &bob).await;
    assert_is_full(&answer, "the third of all");
    // Small requests still work.
    identity.login("bob", PASSWORD).await.expect(200);
    let body = json!({"bio": "x".repeat(200)});
    let call = identity.api.put(&format!("/api/auth/user/{}", bob.id));
    call.bearer(&bob.access).json(body).send().await.expect(200);
    while let Some((_, answer)) = sent.next().await {
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }
    assert_eq!(upload(&identity, &bob, jpeg(700, 500)).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fetching_a_photo_from_a_url_counts_as_a_large_body() {
    let identity = Identity::start_with(|config| {
        config.limits.large_bodies_mib = Some(8);
        config.limits.body_seconds = NEVER;
    })
    .await;
    let (ada, bob) = (
        identity.register("ada").await,
        identity.register("bob").await,
    );
    let file = &hostile(&ada)[3];
    let mut sent: FuturesUnordered<_> = (0..2).map(|_| file.send(&identity, &ada)).collect();
    let (_, answer) = sent.next().await.unwrap();
    assert_is_full(&answer, "the second of all");
    let body = json!({"profile_photo_url": "https://203.0.113.7/photo.png"});
    let call = identity.api.put(&format!("/api/auth/user/{}", bob.id));
    let reply = call.bearer(&bob.access).json(body).send().await.expect(503);
    assert!(reply.header("retry-after").parse::<u64>().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_of_an_unauthenticated_caller_is_refused_unread() {
    let identity = Identity::start().await;
    for (path, length, status) in [
        ("/api/auth/user/1/profile-photo", 5 * MIB, 401),
        ("/api/auth/user/1", 8 * MIB, 401),
        ("/api/auth/login", 8 * MIB, 413),
        ("/api/auth/token", 8 * MIB, 413),
    ] {
        let method = if status == 401 { "PUT" } else { "POST" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\n\r\n"
        );
        let answer = raw_request(identity.running.addr(), request.as_bytes()).await;
        let is_refused = answer.starts_with(&format!("HTTP/1.1 {status}"));
        assert!(is_refused || path.ends_with("token"), "{path}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 4"), "{path}: {answer}");
    }
}
