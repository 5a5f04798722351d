use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
    web::{Bytes, Data},
};

use crate::loopback::LoopbackServer;

/// A web server on loopback, for what our services fetch.
#[derive(Debug)]
pub struct FakeWebServer {
    server: LoopbackServer,
    shared: Arc<Shared>,
}

/// The response of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FakePage {
    /// A file with this content type.
    File(&'static str, Vec<u8>),
    /// A file with this status.
    Failed(u16, Vec<u8>),
    /// A redirect to this address.
    Redirect(String),
    /// This many bytes, without announcing the length.
    Unannounced(usize),
    /// No response, until the caller gives up.
    Hang,
}

#[derive(Debug, Default)]
struct Shared {
    pages: Mutex<HashMap<String, FakePage>>,
    calls: Mutex<Vec<String>>,
}

impl FakeWebServer {
    /// Starts on a free port with these pages; every other path responds with 404.
    pub async fn start(pages: impl IntoIterator<Item = (&'static str, FakePage)>) -> Self {
        let shared = Arc::new(Shared::default());
        let pages = pages
            .into_iter()
            .map(|(path, page)| (path.to_owned(), page));
        shared.pages.lock().unwrap().extend(pages);
        Self {
            server: LoopbackServer::start(&shared, page),
            shared,
        }
    }

    /// Returns the address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Returns the address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    /// Sets the response of a path.
    pub fn set(&self, path: &str, page: FakePage) {
        self.shared
            .pages
            .lock()
            .unwrap()
            .insert(path.to_owned(), page);
    }

    /// Returns the paths called so far, each with its method.
    pub fn calls(&self) -> Vec<String> {
        self.shared.calls.lock().unwrap().clone()
    }
}

async fn page(request: HttpRequest, shared: Data<Shared>) -> HttpResponse {
    let call = format!("{} {}", request.method(), request.path());
    shared.calls.lock().unwrap().push(call);
    let page = shared.pages.lock().unwrap().get(request.path()).cloned();
    match page {
        Some(FakePage::File(kind, bytes)) => HttpResponse::Ok().content_type(kind).body(bytes),
        Some(FakePage::Failed(status, bytes)) => {
            HttpResponse::build(StatusCode::from_u16(status).unwrap()).body(bytes)
        }
        Some(FakePage::Redirect(to)) => HttpResponse::Found()
            .insert_header((header::LOCATION, to))
            .finish(),
        Some(FakePage::Unannounced(count)) => {
            let chunk = Bytes::from(vec![b'x'; 64 * 1024]);
            let chunks = (0..count / chunk.len()).map(move |_| chunk.clone());
            HttpResponse::Ok().streaming(futures_util::stream::iter(
                chunks.map(Ok::<_, std::io::Error>),
            ))
        }
        Some(FakePage::Hang) => std::future::pending().await,
        None => HttpResponse::NotFound().finish(),
    }
}
