use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::http::header;
use actix_web::web::{self, Bytes, Data, ServiceConfig};
use futures_util::future::BoxFuture;
use serde::Serialize;
use utoipa::openapi::{OpenApi, Server};
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::Shared;
use crate::Problem;
use crate::http::{ClientIp, endpoint};

/// How long a scrape waits for the readiness check. A collector gives up the whole response after ten seconds.
const READY_TIMEOUT: Duration = Duration::from_secs(3);

/// The header of `/health/live` and `/health/serving` with the caller's address as this service sees it.
pub const CLIENT_ADDRESS: &str = "x-client-address";

/// The body of `/health/ready`.
#[derive(Debug, Clone, Serialize)]
pub struct ReadyReport {
    /// Whether the service can answer requests.
    pub ready: bool,
    /// `connected`, or what is wrong.
    pub database: String,
    /// The state of the broker. It is not required: starts and submits need no broker.
    pub broker: String,
}

/// A function that checks whether the service is ready.
pub type ReadyCheck = Arc<dyn Fn() -> BoxFuture<'static, ReadyReport> + Send + Sync>;

pub(super) fn routes(cfg: &mut ServiceConfig, description: Option<Data<Description>>) {
    cfg.service(endpoint("/health/live").get(live))
        .service(endpoint("/health/ready").get(ready))
        .service(endpoint("/health/serving").get(serving))
        .service(endpoint("/metrics").get(metrics));
    if let Some(description) = description {
        cfg.app_data(description)
            .service(endpoint("/openapi.json").get(describe))
            .service(web::redirect("/docs", "/docs/"))
            .service(SwaggerUi::new("/docs/{_:.*}").config(Config::from("../openapi.json")));
    }
}

/// The API description as it is sent: one text for all workers, created at the first request for it. Such requests are rare, and
/// the tree behind the text would be the largest object in memory after the start.
pub(super) struct Description {
    make: fn() -> OpenApi,
    /// The public address, if it has a path: clients cannot derive it from the address of the description.
    server: Option<String>,
    text: OnceLock<Result<Bytes, String>>,
}

impl Description {
    pub(super) fn new(make: fn() -> OpenApi, server: Option<String>) -> Self {
        let text = OnceLock::new();
        Self { make, server, text }
    }

    fn text(&self) -> Result<Bytes, Problem> {
        let make = || {
            let mut description = (self.make)();
            if let Some(server) = &self.server {
                description.servers = Some(vec![Server::new(server)]);
            }
            let text = description.to_json();
            text.map(Bytes::from).map_err(|error| error.to_string())
        };
        self.text
            .get_or_init(make)
            .clone()
            .map_err(Problem::internal)
    }
}

async fn describe(description: Data<Description>) -> Result<HttpResponse, Problem> {
    let text = description.text()?;
    Ok(HttpResponse::Ok()
        .content_type("application/json")
        .body(text))
}

/// Reports that the process is alive, and the caller's address: a service that forwards addresses learns whether it is trusted.
async fn live(client: ClientIp) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CLIENT_ADDRESS, client.to_string()))
        .json(serde_json::json!({ "status": "alive" }))
}

/// Tells a load balancer whether this process takes requests. From SIGTERM on it does not, although it still answers them. An
/// unreachable database affects every replica, so it does not count here: each request reports it by itself.
async fn serving(client: ClientIp, shared: Data<Shared>) -> HttpResponse {
    let serving = !shared.draining.load(Ordering::Acquire);
    let mut response = if serving {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((CLIENT_ADDRESS, client.to_string()))
        .json(serde_json::json!({ "serving": serving }))
}

async fn ready(check: Data<ReadyCheck>, shared: Data<Shared>) -> HttpResponse {
    let report = check_readiness(&check, &shared).await;
    let mut response = if report.ready {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(report)
}

async fn check_readiness(check: &ReadyCheck, shared: &Shared) -> ReadyReport {
    let mut report = check().await;
    if shared.draining.load(Ordering::Acquire) {
        report.ready = false;
    }
    report
}

async fn metrics(check: Data<ReadyCheck>, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let report = tokio::time::timeout(READY_TIMEOUT, check_readiness(&check, &shared)).await;
    shared
        .metrics
        .set_ready(report.is_ok_and(|report| report.ready));
    let text = shared.metrics.render().map_err(Problem::internal)?;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text))
}
