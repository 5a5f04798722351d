//! The streams themselves: how many, how long, and what happens to those that nobody reads.

use std::time::{Duration, Instant};

use broker::Broker;
use chrono::TimeDelta;
use serde_json::json;
use test_kit::{ApiClient, wait_until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::caller::{Caller, changed, honest};
use crate::event_stream_client::{StreamClient, request_stream};
use crate::fake_identity::FakeIdentity;
use crate::service_fixture::Service;

/// Returns the metric of open streams.
async fn open_streams(service: &Service) -> usize {
    let metrics = service.api.get("/metrics").send().await.text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("event_streams "));
    line.expect("the metric").parse().unwrap()
}

async fn until_none_open(service: &Service) {
    wait_until("no stream", Duration::from_secs(20), async || {
        (open_streams(service).await == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heartbeats_arrive_and_advance_the_last_event_id() {
    let (service, _identity) = Service::with_event_stream(json!({"heartbeat_seconds": 1})).await;
    let mut client = StreamClient::open(&service.api, "outsider-7").await;
    let first = client.last_id.clone();
    for _ in 0..2 {
        let began = Instant::now();
        service.clock.advance(TimeDelta::minutes(1));
        let beat = client.next_block().await.unwrap();
        assert_eq!(
            (beat.comment.as_str(), beat.event.as_str()),
            ("heartbeat", "")
        );
        assert!(beat.id.is_some());
        assert!(
            began.elapsed() < Duration::from_secs(2),
            "{:?}",
            began.elapsed()
        );
    }
    assert!(client.last_id > first, "{:?}", client.last_id);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_counted_and_limited_for_each_user_and_for_the_process() {
    let limits = json!({"streams": 3, "streams_per_user": 2, "heartbeat_seconds": 1});
    let (service, _identity) = Service::with_event_stream(limits).await;
    assert_eq!(open_streams(&service).await, 0);
    let mut open = Vec::new();
    for token in ["outsider-7", "outsider-7", "outsider-8"] {
        open.push(StreamClient::open(&service.api, token).await);
    }
    assert_eq!(open_streams(&service).await, 3);
    for (token, status, error) in [
        (
            "outsider-7",
            429,
            "Too many event streams of this user are open",
        ),
        ("outsider-8", 503, "Too many event streams are open"),
        ("outsider-9", 503, "Too many event streams are open"),
    ] {
        let refused = request_stream(&service.api, token, None).await;
        assert_eq!(refused.status(), status);
        let wait = refused.headers()["retry-after"].to_str().unwrap();
        assert!(wait.parse::<u64>().unwrap() > 0);
        let body: serde_json::Value = refused.json().await.unwrap();
        assert_eq!(body, json!({"error": error}));
    }
    // A closed stream makes room; the next heartbeat notices it at the latest.
    drop(open);
    until_none_open(&service).await;
    StreamClient::open(&service.api, "outsider-7").await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_clients_that_accept_event_streams_get_one() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let call = |method: &str| {
        let call = service.api.call(method.parse().unwrap(), "/api/events");
        call.bearer("outsider-7")
    };
    let refused = call("GET").header("accept", "application/json").send();
    assert_eq!(
        refused.await.expect(406).json(),
        json!({"error": "To read this event stream, accept text/event-stream"})
    );
    let head = call("HEAD").send().await.expect(200);
    assert_eq!(head.header("content-type"), "text/event-stream");
    assert_eq!(head.body, b"");
    assert_eq!(open_streams(&service).await, 0);
    for accept in ["*/*", "text/*", "text/event-stream;q=0.9, application/json"] {
        let stream = open_raw(&service.api, "outsider-7", accept, None).await;
        wait_until("a stream", Duration::from_secs(5), async || {
            (open_streams(&service).await == 1).then_some(())
        })
        .await;
        // Closed with unread data, the connection is reset.
        drop(stream);
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_the_streams_at_once() {
    let (service, _identity) = Service::with_event_stream(json!({})).await;
    let mut open = Vec::new();
    for user in 7..12 {
        open.push(StreamClient::open(&service.api, &format!("outsider-{user}")).await);
    }
    let began = Instant::now();
    let stop = async {
        service.stop().await;
        began.elapsed()
    };
    let ends = async {
        for client in &mut open {
            assert_eq!(client.expect("end").await, json!({"reason": "shutdown"}));
            assert_eq!(client.next_event().await, None);
        }
    };
    let (took, ()) = futures_util::future::join(stop, ends).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_opens_during_a_shutdown_ends_without_an_error() {
    let identity = FakeIdentity::default();
    let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
    let settings = json!({"identity_url": identity_url, "drain_seconds": 2});
    let service = Service::with(settings, Broker::memory()).await;
    let api = ApiClient::new(service.api.base());
    let mut before = StreamClient::open(&api, "outsider-7").await;
    let reconnect = async {
        assert_eq!(before.expect("end").await, json!({"reason": "shutdown"}));
        // An `EventSource` gives up after any status but 200.
        let mut again = StreamClient::resume(&api, "outsider-7", None).await;
        assert_eq!(again.expect("end").await, json!({"reason": "shutdown"}));
        assert_eq!(again.next_event().await, None);
    };
    futures_util::future::join(service.stop(), reconnect).await;
}

/// Opens a stream on a connection of its own, whose client buffers little.
async fn open_raw(api: &ApiClient, token: &str, accept: &str, receive: Option<u32>) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    if let Some(bytes) = receive {
        socket.set_recv_buffer_size(bytes).unwrap();
    }
    let address = api.base().strip_prefix("http://").unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let request = format!(
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nAccept: {accept}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Starts and submits so many sessions, each of which sends sixteen kilobytes of events.
async fn flood(caller: &Caller<'_>, sessions: usize) {
    let long = "\u{1f341}".repeat(1_990);
    for _ in 0..sessions {
        let body = json!({"category": "coding", "duration": 25, "note": long});
        let started = caller.start(body).await;
        let done = changed(honest(&started, caller.service), &json!({"note": long}));
        caller.submit(done).await.expect(200);
        // The same plan a moment later would be the same start.
        caller.service.clock.advance(TimeDelta::seconds(11));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_nobody_reads_is_closed() {
    let (service, _identity) = Service::with_event_stream(json!({"unread_seconds": 1})).await;
    let ada = Caller::outsider(&service, 7);
    let dead = open_raw(&service.api, &ada.token, "*/*", Some(4_096)).await;
    let mut quick = StreamClient::open(&service.api, &ada.token).await;
    wait_until("both", Duration::from_secs(5), async || {
        (open_streams(&service).await == 2).then_some(())
    })
    .await;
    let listen = async {
        // A stream that is read continues all the while, and other requests are answered in time.
        loop {
            quick.next_event().await.expect("it goes on");
            if open_streams(&service).await == 1 {
                return;
            }
        }
    };
    let write = async {
        for _ in 0..100 {
            flood(&ada, 20).await;
            if open_streams(&service).await == 1 {
                return;
            }
        }
        panic!("32 megabytes wait for a client that does not read");
    };
    let both = futures_util::future::join(listen, write);
    tokio::time::timeout(Duration::from_secs(60), both)
        .await
        .expect("in time");
    drop((dead, quick));
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_stream_gets_a_reset_event() {
    let (service, _identity) = Service::with_event_stream(json!({"unread_seconds": 60})).await;
    let ada = Caller::outsider(&service, 7);
    let mut late = open_raw(&service.api, &ada.token, "*/*", Some(4_096)).await;
    wait_until("a stream", Duration::from_secs(5), async || {
        (open_streams(&service).await == 1).then_some(())
    })
    .await;
    // More than systems buffer for a connection.
    flood(&ada, 700).await;
    let mut read = Vec::new();
    let mut chunk = vec![0; 1 << 20];
    let reset = "event: reset\ndata: {\"reason\":\"behind\"}\n\n".as_bytes();
    while !read.windows(reset.len()).any(|text| text == reset) {
        let more = tokio::time::timeout(Duration::from_secs(10), late.read(&mut chunk));
        let length = more.await.expect("a reset").unwrap();
        assert_ne!(length, 0, "the stream ended");
        read.drain(..read.len().saturating_sub(reset.len()));
        read.extend_from_slice(&chunk[..length]);
    }
    assert_eq!(open_streams(&service).await, 1, "and it goes on");
    drop(late);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_stream_still_ends_with_its_token() {
    let live = json!({"unread_seconds": 60, "recheck_seconds": 1});
    let (service, identity) = Service::with_event_stream(live).await;
    let ada = Caller::outsider(&service, 7);
    // The same user with another token, which stays valid.
    let elsewhere = Caller::member(&service, 7);
    let mut slow = open_raw(&service.api, &ada.token, "*/*", Some(4_096)).await;
    wait_until("a stream", Duration::from_secs(5), async || {
        (open_streams(&service).await == 1).then_some(())
    })
    .await;
    // More than systems buffer for a connection.
    flood(&elsewhere, 700).await;
    assert_eq!(open_streams(&service).await, 1);
    let began = Instant::now();
    identity.answer_like(&ada.token, "401");
    until_none_open(&service).await;
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );

    let plan = json!({"category": "afterwards", "duration": 25});
    elsewhere.start(plan).await;
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n0\r\n\r\n") {
        let more = tokio::time::timeout(Duration::from_secs(10), slow.read_buf(&mut read));
        assert_ne!(more.await.expect("the stream's end").unwrap(), 0);
    }
    let text = String::from_utf8_lossy(&read);
    assert!(text.contains("event: timer"));
    assert!(!text.contains("afterwards"), "nothing is read any more");
    service.stop().await;
}
