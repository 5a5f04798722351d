//! A client of the event stream.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{ClientBuilder, Response};
use serde_json::Value;
use test_kit::ApiClient;
use tokio::time::timeout;

/// After this time without an event, a test fails.
const TIMEOUT: Duration = Duration::from_secs(15);

/// An open event stream.
pub struct StreamClient {
    response: Response,
    unread: Vec<u8>,
    /// The last id that arrived, which a browser would send to resume.
    pub last_id: Option<String>,
}

/// A block of lines: an event, a comment or the `retry` field.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Block {
    pub id: Option<String>,
    pub event: String,
    pub data: Value,
    pub comment: String,
    pub retry: String,
}

/// Requests a stream; returns the response once its head has arrived.
pub async fn request_stream(api: &ApiClient, token: &str, last_id: Option<&str>) -> Response {
    let client = ClientBuilder::new().no_proxy().build().unwrap();
    let mut request = client
        .get(format!("{}/api/events", api.base()))
        .bearer_auth(token)
        .header(ACCEPT, "text/event-stream");
    if let Some(id) = last_id {
        request = request.header("last-event-id", id);
    }
    timeout(TIMEOUT, request.send()).await.unwrap().unwrap()
}

impl StreamClient {
    /// Opens a stream and reads up to its `hello`, which comes first if there is nothing to replay.
    pub async fn open(api: &ApiClient, token: &str) -> Self {
        let mut client = Self::resume(api, token, None).await;
        let (first, hello) = (client.next_block().await, client.next_block().await);
        assert_eq!(first.unwrap().retry, "2000");
        assert_eq!(hello.unwrap().event, "hello");
        client
    }

    /// Opens a stream like a client that resumes.
    pub async fn resume(api: &ApiClient, token: &str, last_id: Option<&str>) -> Self {
        let response = request_stream(api, token, last_id).await;
        assert_eq!(response.status(), 200);
        let header = |name| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header(CONTENT_TYPE.as_str()), "text/event-stream");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-accel-buffering"), "no");
        Self {
            response,
            unread: Vec::new(),
            last_id: last_id.map(str::to_owned),
        }
    }

    /// Returns the next block, or `None` at the end of the stream.
    pub async fn next_block(&mut self) -> Option<Block> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let text: Vec<u8> = self.unread.drain(..end + 2).collect();
                let block = parse_block(std::str::from_utf8(&text).unwrap());
                self.last_id = block.id.clone().or(self.last_id.take());
                return Some(block);
            }
            let chunk = timeout(TIMEOUT, self.response.chunk()).await;
            match chunk.expect("something within the time").unwrap() {
                Some(chunk) => self.unread.extend_from_slice(&chunk),
                None => {
                    assert_eq!(self.unread, b"", "whole blocks only");
                    return None;
                }
            }
        }
    }

    /// Returns the name and the data of the next event, or `None` at the end of the stream.
    pub async fn next_event(&mut self) -> Option<(String, Value)> {
        loop {
            let block = self.next_block().await?;
            if !block.event.is_empty() {
                return Some((block.event, block.data));
            }
        }
    }

    /// Returns the data of the next event, which must have that name.
    pub async fn expect(&mut self, name: &str) -> Value {
        let (event, data) = self.next_event().await.expect(name);
        assert_eq!(event, name, "{data}");
        data
    }
}

fn parse_block(text: &str) -> Block {
    let mut block = Block::default();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (field, value) = line.split_once(": ").unwrap();
        match field {
            "" => value.clone_into(&mut block.comment),
            "id" => block.id = Some(value.to_owned()),
            "event" => value.clone_into(&mut block.event),
            "data" => block.data = serde_json::from_str(value).unwrap(),
            "retry" => value.clone_into(&mut block.retry),
            other => panic!("a field {other}"),
        }
    }
    block
}
