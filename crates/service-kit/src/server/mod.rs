//! One HTTP server: request ids, limits, errors in the area's shape, security headers, CORS, probes, metrics, API description,
//! and a stop that loses no request.

mod base_path;
pub mod cors;
mod layer;
mod local_address;
mod probes;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::http::header::HeaderValue;
use actix_web::middleware::{Condition, from_fn};
use actix_web::web::{Data, ServiceConfig};
use actix_web::{App, HttpServer};
use ipnet::IpNet;
use sd_notify::NotifyState;
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use utoipa::openapi::OpenApi;

pub use local_address::local_address;
pub use probes::{CLIENT_ADDRESS, ReadyCheck, ReadyReport};

use base_path::BasePath;
use cors::OriginRule;

use crate::cli::print;
use crate::http::{BodyBudget, InternalSecret, Limits, TrustedProxies};
use crate::memory_budget::MemoryBudget;
use crate::metrics::Metrics;
use crate::problem::{RenderPage, RenderProblem};

/// The settings of a server.
#[derive(Clone)]
pub struct ServerOptions {
    /// The name in the line `listening NAME http://…`.
    pub name: &'static str,
    /// The address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// The public address, whose path a proxy may keep in requests; empty if there is none.
    pub base_url: String,
    /// The number of worker threads.
    pub workers: usize,
    /// The limits on requests.
    pub limits: Limits,
    /// The memory for request bodies, shared with the other servers of this process.
    pub bodies: BodyBudget,
    /// The origins whose pages may call the API.
    pub cors_origins: Vec<String>,
    /// The paths that pages of further origins may call.
    pub origin_rule: Option<OriginRule>,
    /// The proxies whose `X-Forwarded-For` and `Forwarded` are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The secret by which another part of the same process is trusted, too.
    pub internal_secret: Option<InternalSecret>,
    /// Seconds for which browsers use https only (RFC 6797); 0 to send no such header.
    pub hsts_seconds: u64,
    /// Renders the error body of the area.
    pub render: RenderProblem,
    /// Renders errors for browsers, if the area has pages.
    pub render_page: Option<RenderPage>,
    /// The metrics of the service.
    pub metrics: Metrics,
    /// The check behind `/health/ready`.
    pub ready: ReadyCheck,
    /// Creates the API description, which is served at `/openapi.json` and shown at `/docs`.
    pub openapi: Option<fn() -> OpenApi>,
    /// How long requests are still accepted after SIGTERM, so that load balancers notice.
    pub drain: Duration,
}

/// How long a connection may be idle between two requests. Proxies in front close idle connections sooner (Caddy as configured in
/// deploy/proxy, nginx 60 s, most load balancers 60 s). A proxy that learns only after sending a POST that the connection is
/// closed cannot send it again, and has to answer 502.
pub const KEEP_ALIVE: Duration = Duration::from_secs(75);

/// The state of the outermost layer.
pub(crate) struct Shared {
    pub(crate) render: RenderProblem,
    pub(crate) render_page: Option<RenderPage>,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    pub(crate) hsts: Option<HeaderValue>,
    pub(crate) draining: Arc<AtomicBool>,
    origin_rule: Option<OriginRule>,
    base_path: BasePath,
}

/// A running server.
#[derive(Debug)]
pub struct RunningServer {
    name: &'static str,
    addr: SocketAddr,
    handle: ServerHandle,
    task: JoinHandle<io::Result<()>>,
    draining: Arc<AtomicBool>,
    drain: Duration,
}

/// Binds the address and starts to answer.
///
/// `configure` adds the routes of the service; it runs once for each worker.
///
/// # Errors
/// When the address cannot be bound.
pub fn start<F>(options: ServerOptions, configure: F) -> io::Result<RunningServer>
where
    F: Fn(&mut ServiceConfig) + Clone + Send + 'static,
{
    start_on(bind(options.listen)?, options, configure)
}

/// Binds the address, so that a service that listens on port 0 knows its own address before it answers. Connections wait
/// meanwhile.
///
/// # Errors
/// When the address cannot be bound.
pub fn bind(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = if listen.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(1024)?.into_std()
}

/// Starts a server on an address that is bound already; see [`start`].
///
/// # Errors
/// When the socket cannot be used.
pub fn start_on<F>(
    listener: TcpListener,
    options: ServerOptions,
    configure: F,
) -> io::Result<RunningServer>
where
    F: Fn(&mut ServiceConfig) + Clone + Send + 'static,
{
    let draining = Arc::new(AtomicBool::new(false));
    let shared = Data::new(Shared {
        render: options.render,
        render_page: options.render_page,
        metrics: options.metrics.clone(),
        limits: options.limits,
        hsts: hsts(options.hsts_seconds),
        draining: Arc::clone(&draining),
        origin_rule: options.origin_rule,
        base_path: BasePath::from_url(&options.base_url),
    });
    let limits = Data::new(options.limits);
    let bodies = Data::new(options.bodies);
    let connections = options.limits.connections;
    let connections = connections.unwrap_or_else(|| MemoryBudget::of_this_process().connections);
    let proxies = Data::new(TrustedProxies {
        networks: options.trusted_proxies,
        internal_secret: options.internal_secret,
    });
    let ready = Data::new(options.ready);
    let server = (!shared.base_path.is_empty()).then_some(options.base_url);
    let description = options
        .openapi
        .map(|make| Data::new(probes::Description::new(make, server)));
    let origins = options.cors_origins;
    let server = HttpServer::new(move || {
        let configure = configure.clone();
        let description = description.clone();
        App::new()
            .app_data(shared.clone())
            .app_data(limits.clone())
            .app_data(bodies.clone())
            .app_data(proxies.clone())
            .app_data(ready.clone())
            .wrap(Condition::new(!origins.is_empty(), cors::listed(&origins)))
            .wrap(from_fn(layer::outermost))
            .configure(move |cfg| {
                probes::routes(cfg, description);
                configure(cfg);
            })
            .default_service(actix_web::web::to(layer::no_such_path))
    })
    .workers(options.workers)
    .max_connections((connections / options.workers.max(1)).max(1))
    .keep_alive(KEEP_ALIVE)
    .worker_max_blocking_threads(64)
    .shutdown_timeout(10)
    .disable_signals()
    .listen(listener)?;
    let addr = server.addrs().first().copied().unwrap_or(options.listen);
    let server = server.run();
    let handle = server.handle();
    let task = tokio::spawn(server);
    Ok(RunningServer {
        name: options.name,
        addr,
        handle,
        task,
        draining,
        drain: options.drain,
    })
}

impl RunningServer {
    /// Returns the address on which it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Announces that the server answers: by one line on standard output, and to systemd.
    pub fn announce(&self) {
        // The launch contract: standard output contains these lines and nothing else.
        let line = format!("listening {} http://{}", self.name, self.addr);
        if let Err(error) = print(&line) {
            log::error!("cannot print {line:?}: {error}");
        }
        tell_supervisor(NotifyState::Ready);
    }

    /// Stops without losing a request. While it still accepts connections, it sends `Connection: close` and reports that it is
    /// not ready. Then it accepts no more, and finishes running requests for up to ten seconds.
    pub async fn stop(self) {
        self.draining.store(true, Ordering::Release);
        tell_supervisor(NotifyState::Stopping);
        tokio::time::sleep(self.drain).await;
        self.handle.stop(true).await;
        if let Ok(Err(error)) = self.task.await {
            log::error!("the {} server ended with an error: {error}", self.name);
        }
    }
}

/// Notifies systemd, if that started the process and waits for it (`Type=notify`). Several servers of one process all start
/// before the first one is announced, and stop together, so that a repeated notification is still true.
fn tell_supervisor(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        log::warn!("systemd cannot be notified: {error}");
    }
}

/// Returns the header, or none for zero seconds, which would make browsers drop the policy of a proxy.
fn hsts(seconds: u64) -> Option<HeaderValue> {
    let value = format!("max-age={seconds}");
    (seconds > 0).then(|| HeaderValue::from_str(&value).ok())?
}
