//! An identity service that fails in a given way.

use std::net::SocketAddr;

use serde_json::json;
use test_kit::ApiResponse;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::fake_identity::FakeIdentity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    NobodyListens,
    TakesConnectionsAndIsSilent,
    ResetsConnections,
    Answers500,
    AnswersRubbish,
}

/// An identity service that fails until it is dropped or recovers.
pub struct FailingIdentity {
    pub address: SocketAddr,
    /// Bound without listening, so that no other test gets the port.
    reservation: TcpSocket,
    task: Option<JoinHandle<()>>,
}

impl FailingIdentity {
    pub async fn start(failure: Failure) -> Self {
        let reservation = TcpSocket::new_v4().unwrap();
        reservation.set_reuseaddr(true).unwrap();
        reservation.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = reservation.local_addr().unwrap();
        let listener = match failure {
            Failure::NobodyListens => None,
            _ => Some(TcpListener::bind(address).await.unwrap()),
        };
        let task = listener.map(|listener| {
            tokio::spawn(async move {
                // Accepted connections close when this task ends.
                let (mut connections, mut responses) = (Vec::new(), JoinSet::new());
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    match failure {
                        Failure::Answers500 => {
                            responses.spawn(respond(stream, "500 Internal Server Error", "{}"));
                        }
                        Failure::AnswersRubbish => {
                            responses.spawn(respond(stream, "200 OK", "<html>"));
                        }
                        Failure::ResetsConnections => {
                            // A close without lingering sends a reset.
                            stream.set_zero_linger().unwrap();
                        }
                        Failure::NobodyListens | Failure::TakesConnectionsAndIsSilent => {
                            connections.push(stream);
                        }
                    }
                }
            })
        });
        Self {
            address,
            reservation,
            task,
        }
    }

    /// Stops the server, and starts a working one at the same address.
    pub async fn recover(self) -> FakeIdentity {
        if let Some(task) = self.task {
            task.abort();
            drop(task.await);
        }
        let identity = FakeIdentity::default();
        identity.start(&self.address.to_string());
        drop(self.reservation);
        identity
    }
}

async fn respond(mut stream: TcpStream, status: &'static str, body: &'static str) {
    let mut buffer = [0; 4_096];
    while let Ok(1..) = stream.read(&mut buffer).await {
        let length = body.len();
        let text = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[track_caller]
pub fn assert_unavailable(reply: &ApiResponse) {
    assert_eq!(reply.status, 503, "{}: {}", reply.call, reply.text());
    assert_eq!(
        reply.json(),
        json!({"error": "Authentication service unavailable"})
    );
    let wait = reply.header("retry-after").parse::<u64>();
    assert!(wait.is_ok_and(|seconds| seconds >= 1));
}
