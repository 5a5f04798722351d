use std::{
    collections::VecDeque,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    dev::ServerHandle,
    http::{StatusCode, header},
    web::{self, Bytes, Data},
};
use serde_json::Value;
use tokio::sync::Notify;

/// How long a test waits for a message before it fails.
const PATIENCE: Duration = Duration::from_secs(15);

/// A chat server with incoming hooks, on loopback. Takes every path and does as it is told.
#[derive(Debug)]
pub struct FakeChat {
    address: SocketAddr,
    shared: Arc<Shared>,
    taken: Mutex<usize>,
    server: ServerHandle,
}

/// What a hook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatReply {
    /// This status and a short body.
    Status(u16),
    /// This status with a `Retry-After` header.
    RetryAfter(u16, String),
    /// A redirect to this place.
    Redirect(String),
    /// Nothing, until the caller gives up.
    Hang,
}

/// A request that a hook received.
#[derive(Debug, Clone)]
pub struct ChatMessage {
    /// The path called, which on a real server is the secret.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null when it was not JSON.
    pub body: Value,
    /// When it came.
    pub at: Instant,
    /// What was answered.
    pub reply: ChatReply,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    came: Notify,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<ChatReply>,
    usual: Option<ChatReply>,
    messages: Vec<ChatMessage>,
}

impl FakeChat {
    /// Starts on a free port; answers 200 until told otherwise.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let data = Data::from(Arc::clone(&shared));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .default_service(web::to(hook))
        })
        .workers(1)
        .disable_signals()
        .shutdown_timeout(0)
        .listen(listener)
        .unwrap()
        .run();
        let handle = server.handle();
        tokio::spawn(server);
        Self {
            address,
            shared,
            taken: Mutex::new(0),
            server: handle,
        }
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the hook `name`.
    pub fn hook(&self, name: &str) -> String {
        format!("http://{}/services/{name}", self.address)
    }

    /// Answers the coming requests with these, one each, then as usual again.
    pub fn script(&self, replies: impl IntoIterator<Item = ChatReply>) {
        self.shared.state.lock().unwrap().script.extend(replies);
    }

    /// From now on answers this when the script is empty.
    pub fn usually(&self, reply: ChatReply) {
        self.shared.state.lock().unwrap().usual = Some(reply);
    }

    /// Everything received so far.
    pub fn messages(&self) -> Vec<ChatMessage> {
        self.shared.state.lock().unwrap().messages.clone()
    }

    /// The next request not returned by this before; waits for it, panics after 15 s.
    pub async fn next_message(&self) -> ChatMessage {
        self.next_message_within(PATIENCE)
            .await
            .expect("no chat message came")
    }

    /// As [`FakeChat::next_message`], with None when nothing comes in time.
    pub async fn next_message_within(&self, limit: Duration) -> Option<ChatMessage> {
        let next = async {
            loop {
                let came = self.shared.came.notified();
                tokio::pin!(came);
                came.as_mut().enable();
                if let Some(message) = self.take() {
                    return message;
                }
                came.await;
            }
        };
        tokio::time::timeout(limit, next).await.ok()
    }

    fn take(&self) -> Option<ChatMessage> {
        let mut taken = self.taken.lock().unwrap();
        let message = self
            .shared
            .state
            .lock()
            .unwrap()
            .messages
            .get(*taken)
            .cloned()?;
        *taken += 1;
        Some(message)
    }
}

impl Drop for FakeChat {
    fn drop(&mut self) {
        // The message to stop is sent when `stop` is called; its end need not be awaited.
        drop(self.server.stop(false));
    }
}

impl ChatMessage {
    /// The text of a Slack-shaped message.
    pub fn text(&self) -> &str {
        self.body["text"].as_str().unwrap_or_default()
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
        ChatReply::Redirect(to) => status(302).insert_header((header::LOCATION, to)).finish(),
        ChatReply::Hang => std::future::pending().await,
    }
}

impl Shared {
    fn record(&self, request: &HttpRequest, body: &[u8]) -> ChatReply {
        let mut state = self.state.lock().unwrap();
        let usual = state.usual.clone().unwrap_or(ChatReply::Status(200));
        let reply = state.script.pop_front().unwrap_or(usual);
        state.messages.push(ChatMessage {
            path: request.path().to_owned(),
            headers: request
                .headers()
                .iter()
                .map(|(name, value)| {
                    (
                        name.to_string(),
                        String::from_utf8_lossy(value.as_bytes()).into_owned(),
                    )
                })
                .collect(),
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
            at: Instant::now(),
            reply: reply.clone(),
        });
        drop(state);
        self.came.notify_waiters();
        reply
    }
}
