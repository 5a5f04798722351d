use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use actix_web::{
    App, FromRequest, Handler, HttpResponse, HttpServer,
    dev::ServerHandle,
    web::{self, Data},
};
use tokio::sync::Notify;

/// How long a test waits for something to arrive before it fails.
const TIMEOUT: Duration = Duration::from_secs(15);

/// An HTTP server on a free port of loopback, until it is dropped.
#[derive(Debug)]
pub(crate) struct LoopbackServer {
    pub(crate) address: SocketAddr,
    server: ServerHandle,
}

/// Received items in the order of their arrival, each to be returned once.
#[derive(Debug)]
pub(crate) struct ReceivedQueue<T> {
    state: Mutex<(Vec<T>, usize)>,
    received: Notify,
}

impl LoopbackServer {
    /// Answers every path with `handler`, which can access `shared`.
    pub(crate) fn start<S, Args>(
        shared: &Arc<S>,
        handler: impl Handler<Args, Output = HttpResponse> + Copy + Send,
    ) -> Self
    where
        S: Send + Sync + 'static,
        Args: FromRequest + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let data = Data::from(Arc::clone(shared));
        let server = HttpServer::new(move || {
            App::new()
                .app_data(data.clone())
                .default_service(web::to(handler))
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
            server: handle,
        }
    }
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        // `stop` sends its message when it is called; nobody has to await the end.
        drop(self.server.stop(false));
    }
}

impl<T: Clone> ReceivedQueue<T> {
    pub(crate) fn push(&self, item: T) {
        self.state.lock().unwrap().0.push(item);
        self.received.notify_waiters();
    }

    /// Returns everything received so far.
    pub(crate) fn all(&self) -> Vec<T> {
        self.state.lock().unwrap().0.clone()
    }

    /// Waits for the next item that this has not returned before; panics after 15 s.
    pub(crate) async fn next(&self) -> T {
        let next = self.next_within(TIMEOUT).await;
        next.expect("nothing came")
    }

    /// Waits like [`ReceivedQueue::next`], but returns None when nothing arrives in time.
    pub(crate) async fn next_within(&self, limit: Duration) -> Option<T> {
        let next = async {
            loop {
                let received = self.received.notified();
                tokio::pin!(received);
                received.as_mut().enable();
                if let Some(item) = self.take() {
                    return item;
                }
                received.await;
            }
        };
        tokio::time::timeout(limit, next).await.ok()
    }

    fn take(&self) -> Option<T> {
        let (all, taken) = &mut *self.state.lock().unwrap();
        let item = all.get(*taken).cloned()?;
        *taken += 1;
        Some(item)
    }
}

impl<T> Default for ReceivedQueue<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new((Vec::new(), 0)),
            received: Notify::new(),
        }
    }
}
