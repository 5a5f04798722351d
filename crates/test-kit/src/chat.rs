use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Data},
};
use event_types::ChatProvider;
use serde_json::Value;

use crate::{
    loopback::{LoopbackServer, ReceivedQueue},
    strict_chats,
};

/// A chat server with incoming webhooks, on loopback. It accepts every path, and answers as the test tells it.
#[derive(Debug)]
pub struct FakeChat {
    server: LoopbackServer,
    shared: Arc<Shared>,
}

/// How an incoming webhook responds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatReply {
    /// This status and a short body.
    Status(u16),
    /// This status with a `Retry-After` header.
    RetryAfter(u16, String),
    /// This status with this body.
    Said(u16, String),
    /// A redirect to this address.
    Redirect(String),
    /// No response, until the caller gives up.
    Hang,
}

/// A request that an incoming webhook received.
#[derive(Debug, Clone)]
pub struct ChatMessage {
    /// The method, such as `POST`.
    pub method: String,
    /// The path, which on a real server is the secret.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    /// The body as it arrived.
    pub raw: Vec<u8>,
    /// When it arrived.
    pub at: Instant,
    /// The response.
    pub reply: ChatReply,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    messages: ReceivedQueue<ChatMessage>,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<ChatReply>,
    usual: Option<ChatReply>,
    kind: Option<ChatProvider>,
    /// Whether the address was revoked.
    forgotten: bool,
}

impl FakeChat {
    /// Starts on a free port; responds with 200 until the test says otherwise.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared::default());
        Self {
            server: LoopbackServer::start(&shared, hook),
            shared,
        }
    }

    /// Starts as a chat that responds as the real one would, unless the test says otherwise. Its address is in
    /// [`chat_settings`](crate::chat_settings).
    pub async fn strict(kind: ChatProvider) -> Self {
        let chat = Self::start().await;
        chat.shared.state.lock().unwrap().kind = Some(kind);
        chat
    }

    /// Revokes the address of a strict chat from now on.
    pub fn forget(&self) {
        self.shared.state.lock().unwrap().forgotten = true;
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the URL of the incoming webhook `name`.
    pub fn hook(&self, name: &str) -> String {
        format!("http://{}/services/{name}", self.server.address)
    }

    /// Responds to the next requests with these, one each, and then as usual again.
    pub fn script(&self, replies: impl IntoIterator<Item = ChatReply>) {
        self.shared.state.lock().unwrap().script.extend(replies);
    }

    /// Sets the response from now on, when the script is empty.
    pub fn usually(&self, reply: ChatReply) {
        self.shared.state.lock().unwrap().usual = Some(reply);
    }

    /// Returns everything received so far.
    pub fn messages(&self) -> Vec<ChatMessage> {
        self.shared.messages.all()
    }

    /// Waits for the next request that this has not returned before; panics after 15 s.
    pub async fn next_message(&self) -> ChatMessage {
        self.shared.messages.next().await
    }

    /// Waits like [`FakeChat::next_message`], but returns None when nothing arrives in time.
    pub async fn next_message_within(&self, limit: Duration) -> Option<ChatMessage> {
        self.shared.messages.next_within(limit).await
    }
}

impl ChatMessage {
    /// Returns the text of a message in Slack's format.
    pub fn text(&self) -> &str {
        self.body["text"].as_str().unwrap_or_default()
    }

    /// Returns the value of a header, or "".
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Whether one of the request's signatures is that of the reference implementation of Standard Webhooks with this secret. The
    /// test, which has its own clock, checks whether the timestamp is recent.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let webhook = standardwebhooks::Webhook::new(secret).unwrap();
        let timestamp = self.header("webhook-timestamp").parse().unwrap();
        let id = self.header("webhook-id");
        let signature = webhook.sign(id, timestamp, &self.raw).unwrap();
        let mut given = self.header("webhook-signature").split(' ');
        given.any(|given| given == signature)
    }
}

async fn hook(request: HttpRequest, body: Bytes, shared: Data<Shared>) -> HttpResponse {
    let reply = shared.record(&request, &body);
    let status = |code| HttpResponse::build(StatusCode::from_u16(code).unwrap());
    match reply {
        ChatReply::Status(code) => status(code).body("ok"),
        ChatReply::RetryAfter(code, value) => status(code)
            .insert_header((header::RETRY_AFTER, value))
            .finish(),
        ChatReply::Said(code, body) => status(code).body(body),
        ChatReply::Redirect(to) => status(302).insert_header((header::LOCATION, to)).finish(),
        ChatReply::Hang => std::future::pending().await,
    }
}

impl Shared {
    fn record(&self, request: &HttpRequest, body: &[u8]) -> ChatReply {
        let text =
            |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = request.headers().iter();
        let mut message = ChatMessage {
            method: request.method().to_string(),
            path: request.path().to_owned(),
            query: request.query_string().to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_string(), text(value)))
                .collect(),
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
            raw: body.to_vec(),
            at: Instant::now(),
            reply: ChatReply::Status(200),
        };
        let mut state = self.state.lock().unwrap();
        let next = state.script.pop_front().or(state.usual.clone());
        let real = || {
            let (status, said) = strict_chats::answer(state.kind?, &message, !state.forgotten);
            Some(ChatReply::Said(status, said))
        };
        let reply = next.or_else(real).unwrap_or(ChatReply::Status(200));
        message.reply = reply.clone();
        drop(state);
        self.messages.push(message);
        reply
    }
}
