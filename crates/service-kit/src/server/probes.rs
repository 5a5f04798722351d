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

/// How long a scrape waits for the database: a collector gives the whole answer up after ten seconds.
const PATIENCE: Duration = Duration::from_secs(3);

/// The header of `/health/live` and `/health/serving` with the caller's address, as it is seen here.
pub const CLIENT_ADDRESS: &str = "x-client-address";

/// What `/health/ready` tells.
#[derive(Debug, Clone, Serialize)]
pub struct ReadyReport {
    /// Whether requests should come here.
    pub ready: bool,
    /// `connected` or what is wrong.
    pub database: String,
    /// Reported, not required: starts and submits need no broker.
    pub broker: String,
}

/// Asks the service whether it is ready.
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

/// The API description as it is sent: one text for all workers, made when somebody first asks. Few ever do, and the tree
/// that it is made from is the largest thing that a service would hold at its start.
pub(super) struct Description {
    make: fn() -> OpenApi,
    /// The public address, where it has a path: the one that the description is read from says nothing of it.
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

/// Says as whom the caller is counted too, so that a service which passes addresses on learns whether it is believed.
async fn live(client: ClientIp) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CLIENT_ADDRESS, client.to_string()))
        .json(serde_json::json!({ "status": "alive" }))
}

/// What a balancer asks of a replica: whether this process takes requests, which it says no to from SIGTERM on while it
/// still answers them. A database that is away is every replica's trouble; the answer to that is the request's own.
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
    let report = ask(&check, &shared).await;
    let mut response = if report.ready {
        HttpResponse::Ok()
    } else {
        HttpResponse::ServiceUnavailable()
    };
    response
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(report)
}

async fn ask(check: &ReadyCheck, shared: &Shared) -> ReadyReport {
    let mut report = check().await;
    if shared.draining.load(Ordering::Acquire) {
        report.ready = false;
    }
    report
}

async fn metrics(check: Data<ReadyCheck>, shared: Data<Shared>) -> Result<HttpResponse, Problem> {
    let report = tokio::time::timeout(PATIENCE, ask(&check, &shared)).await;
    shared
        .metrics
        .set_ready(report.is_ok_and(|report| report.ready));
    let text = shared.metrics.render().map_err(Problem::internal)?;
    Ok(HttpResponse::Ok()
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text))
}
