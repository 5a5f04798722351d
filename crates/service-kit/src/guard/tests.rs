use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use url::Url;

use super::{GuardError, GuardOptions, GuardedClient, address::is_public, retry_after};

#[test]
fn only_addresses_of_the_public_internet_pass() {
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.0.1",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450::1",
        "2003::1",
    ];
    let forbidden = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:53aa:64c:0:fffe:80ff:fffe",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ];
    let parse = |text: &str| text.parse::<IpAddr>().unwrap();
    for text in public {
        assert!(is_public(parse(text)), "{text} is public");
    }
    for text in forbidden {
        assert!(!is_public(parse(text)), "{text} is not public");
    }
}

#[tokio::test]
async fn a_private_address_is_refused_in_every_spelling_and_behind_a_name() {
    let client = GuardedClient::new(GuardOptions {
        allow_plain: true,
        ..GuardOptions::default()
    })
    .unwrap();
    for url in [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://169.254.169.254/",
        "http://[64:ff9b::a00:1]/",
        "http://1２7.0.0.1/",
        "http://localhost/",
    ] {
        let url = client.check_url(url).expect(url);
        let result = client
            .post_json(&url, &serde_json::Value::Null, HeaderMap::new())
            .await;
        assert_eq!(result, Err(GuardError::ForbiddenAddress), "{url}");
    }
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
fn retry_after_is_read_as_seconds_and_as_a_date() {
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
    assert_eq!(parse("-1"), None);
    assert_eq!(parse("soon"), None);
    assert_eq!(retry_after(&HeaderMap::new()), None);
}

/// Calls a server on loopback that reads a little, sends `answer` and, when that is empty, hangs.
async fn call(answer: Vec<u8>) -> Result<super::Answer, GuardError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        while socket.read(&mut buffer).await.unwrap_or(0) == buffer.len() {}
        if answer.is_empty() {
            std::future::pending::<()>().await;
        }
        // The client hangs up in the middle of a long answer.
        let _ = socket.write_all(&answer).await;
    });
    let result = post(address).await;
    server.abort();
    result
}

async fn post(address: SocketAddr) -> Result<super::Answer, GuardError> {
    let client = GuardedClient::new(GuardOptions {
        allowed_cidrs: vec!["127.0.0.0/8".parse().unwrap()],
        allow_plain: true,
        timeout: Duration::from_millis(400),
        max_body: 1024,
    })
    .unwrap();
    let url = Url::parse(&format!("http://{address}/hook")).unwrap();
    client
        .post_json(&url, &serde_json::json!({"text": "hi"}), HeaderMap::new())
        .await
}

#[tokio::test]
async fn a_file_is_fetched_up_to_the_limit_and_not_read_when_it_announces_more() {
    let fetch = async |answer: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 4096];
            let length = socket.read(&mut buffer).await.unwrap();
            let _ = socket.write_all(answer.as_bytes()).await;
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        });
        let client = GuardedClient::new(GuardOptions {
            allowed_cidrs: vec!["127.0.0.0/8".parse().unwrap()],
            allow_plain: true,
            timeout: Duration::from_millis(400),
            max_body: 1024,
        })
        .unwrap();
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

    let strict = GuardedClient::new(GuardOptions {
        allow_plain: true,
        ..GuardOptions::default()
    })
    .unwrap();
    let url = Url::parse("http://127.0.0.1:1/").unwrap();
    assert_eq!(
        strict.get(&url, "image/png").await,
        Err(GuardError::ForbiddenAddress)
    );
}
