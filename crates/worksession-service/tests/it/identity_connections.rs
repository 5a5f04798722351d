//! Token validation over pooled connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fake_identity::ada;
use crate::service_fixture::Service;

#[tokio::test(flavor = "multi_thread")]
async fn each_concurrent_request_gets_the_result_of_its_own_token() {
    let (service, identity) = Service::with_fake_identity(0).await;
    let request = async |id: i64| {
        let is_bad = id % 10 == 0;
        let token = match is_bad {
            true => "bad".to_owned(),
            false => format!("member-{id}"),
        };
        let reply = service.api.get("/api/user/data").bearer(&token).send();
        let reply = reply.await.expect(if is_bad { 401 } else { 200 });
        if !is_bad {
            assert_eq!(reply.json()["userId"], id.to_string());
        }
    };
    join_all((0..100).map(request)).await;
    assert_eq!(identity.validation_count(), 100);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_pooled_connection_fails_no_request() {
    let (identity, closed) = start_closing_identity().await;
    let service = Service::start(&format!("http://{identity}"), 0).await;
    for _ in 0..10 {
        let call = service.api.get("/api/projects").bearer("user-");
        call.send().await.expect(200);
    }
    assert!(closed.load(Ordering::SeqCst) >= 8);
    let metrics = service.api.get("/metrics").send().await.text();
    assert!(metrics.contains("identity_failures_total 0"), "{metrics}");
    service.stop().await;
}

/// Starts an identity service that answers one validation per connection and closes at the second; counts the closes.
async fn start_closing_identity() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(respond_once(stream, Arc::clone(&count)));
        }
    });
    (address, closed)
}

async fn respond_once(mut stream: TcpStream, closed: Arc<AtomicUsize>) {
    let (mut buffer, mut has_responded) = ([0; 4_096], false);
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        // The service also checks whether it is a trusted proxy.
        let is_validation = buffer[..length].starts_with(b"GET /api/auth/validate");
        if is_validation && has_responded {
            closed.fetch_add(1, Ordering::SeqCst);
            return;
        }
        has_responded |= is_validation;
        let body = ada(None).to_string();
        let length = body.len();
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(text.as_bytes()).await.unwrap();
    }
}
