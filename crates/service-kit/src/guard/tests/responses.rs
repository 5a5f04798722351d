//! What is read of a response, and for how long.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use url::Url;

use super::{allowing, options};
use crate::guard::{GuardError, GuardOptions, GuardedClient, GuardedResponse, Method, retry_after};

#[tokio::test]
async fn a_body_that_comes_by_drops_is_cut_at_the_time_limit_and_the_status_holds() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let _ = socket.read(&mut buffer).await;
        let _ = socket
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
            .await;
        while socket.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let begun = Instant::now();
    let answer = post(address).await.unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!((answer.status, answer.complete), (200, false));
    assert!(
        (1..900).contains(&answer.body.len()),
        "{}",
        answer.body.len()
    );
    server.abort();
}

#[test]
fn only_https_passes_unless_plain_is_allowed() {
    let strict = GuardedClient::new(GuardOptions::default()).unwrap();
    assert!(strict.check_url("https://chat.example.com/hook").is_ok());
    for (url, error) in [
        ("http://chat.example.com/hook", GuardError::SchemeNotAllowed),
        ("ftp://chat.example.com/", GuardError::SchemeNotAllowed),
        ("file:///etc/passwd", GuardError::SchemeNotAllowed),
        ("javascript:alert(1)", GuardError::SchemeNotAllowed),
        ("https://", GuardError::InvalidUrl),
        ("/hook", GuardError::InvalidUrl),
        ("", GuardError::InvalidUrl),
    ] {
        assert_eq!(strict.check_url(url), Err(error), "{url}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_a_long_body_is_cut() {
    let first = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nRetry-After: 7\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n";
    let answer = call(first.into()).await.unwrap();
    assert_eq!(
        (answer.status, answer.retry_after),
        (302, Some(Duration::from_secs(7)))
    );
    assert!(answer.complete);

    let mut long = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    long.resize(long.len() + 300_000, b'x');
    let answer = call(long).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.len(), answer.complete),
        (200, 1024, false)
    );
}

#[tokio::test]
async fn silence_is_a_timeout_and_a_closed_port_a_failed_connection() {
    assert_eq!(call(Vec::new()).await, Err(GuardError::Timeout));
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(post(free).await, Err(GuardError::Connect));
}

#[test]
fn retry_after_is_read_as_whole_or_decimal_seconds_and_as_a_date() {
    let parse = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(
            DATE,
            HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"),
        );
        headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
        retry_after(&headers).map(|wait| wait.as_secs())
    };
    assert_eq!(parse("120"), Some(120));
    assert_eq!(parse(" 3 "), Some(3));
    assert_eq!(parse("Sun, 06 Nov 1994 08:50:37 GMT"), Some(60));
    assert_eq!(parse("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
    assert_eq!(parse("2.9"), Some(2));
    for bad in ["-1", "-0.5", "inf", "NaN", "1e300"] {
        assert_eq!(parse(bad), None, "{bad}");
    }
    assert_eq!(parse("soon"), None);
    assert_eq!(retry_after(&HeaderMap::new()), None);
}

/// Calls a server on loopback that reads the request and sends `answer`, or hangs if it is empty.
async fn call(answer: Vec<u8>) -> Result<GuardedResponse, GuardError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        while socket.read(&mut buffer).await.unwrap_or(0) == buffer.len() {}
        if answer.is_empty() {
            std::future::pending::<()>().await;
        }
        // The client closes the connection in the middle of a long response.
        let _ = socket.write_all(&answer).await;
    });
    let result = post(address).await;
    server.abort();
    result
}

/// Returns a client with a short timeout and a small limit for bodies.
fn impatient() -> GuardedClient {
    GuardedClient::new(GuardOptions {
        timeout: Duration::from_millis(400),
        max_body: 1024,
        ..options(&["127.0.0.0/8"])
    })
    .unwrap()
}

/// Starts a server on loopback that responds once, and then returns the request.
async fn answering_once(answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        let length = socket.read(&mut buffer).await.unwrap();
        let _ = socket.write_all(answer.as_bytes()).await;
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    });
    (address, server)
}

async fn post(address: SocketAddr) -> Result<GuardedResponse, GuardError> {
    let client = impatient();
    let url = Url::parse(&format!("http://{address}/hook")).unwrap();
    client
        .send_json(Method::POST, &url, &serde_json::json!({"text": "hi"}), None)
        .await
}

#[tokio::test]
async fn a_file_is_fetched_up_to_the_limit_and_not_read_when_it_announces_more() {
    let fetch = async |answer: &'static str| {
        let (address, server) = answering_once(answer).await;
        let client = impatient();
        let url = Url::parse(&format!("http://{address}/photo")).unwrap();
        let answer = client.get(&url, "image/png").await.unwrap();
        (answer, server.await.unwrap())
    };
    let (answer, request) =
        fetch("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc").await;
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (200, b"abc".as_slice())
    );
    assert!(answer.complete);
    assert!(request.starts_with("GET /photo HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("accept: image/png"), "{request}");
    let (answer, _) =
        fetch("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\nConnection: close\r\n\r\nabc").await;
    assert_eq!((answer.body.len(), answer.complete), (0, false));

    let strict = allowing(&[]);
    let url = Url::parse("http://127.0.0.1:1/").unwrap();
    assert_eq!(
        strict.get(&url, "image/png").await,
        Err(GuardError::ForbiddenAddress)
    );
}

#[tokio::test]
async fn a_message_is_put_with_its_authorization_and_the_same_guard() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (address, server) = answering_once(answer).await;
    let client = allowing(&["127.0.0.0/8"]);
    let token = "opaque".into();
    let body = serde_json::json!({"body": "hi"});
    let url = Url::parse(&format!("http://{address}/room")).unwrap();
    let answer = client
        .send_json(Method::PUT, &url, &body, Some(&token))
        .await
        .unwrap();
    assert_eq!(answer.status, 200);
    let request = server.await.unwrap();
    assert!(request.starts_with("PUT /room HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains("authorization: Bearer opaque\r\n"),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/json\r\n"),
        "{request}"
    );

    let strict = allowing(&[]);
    let refused = strict
        .send_json(Method::PUT, &url, &body, Some(&token))
        .await;
    assert_eq!(refused, Err(GuardError::ForbiddenAddress));
}
