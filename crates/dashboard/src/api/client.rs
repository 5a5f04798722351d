use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use futures_util::stream::{self, Stream};
use messages::t;
use reqwest::header::{ACCEPT, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;
use service_kit::http::{InternalSecret, RequestId, join_url};
use thiserror::Error;
use tokio::time::timeout;
use url::Url;

use super::bodies::{UserBody, UserData};
use super::error::{ApiError, ApiRejection};
use crate::settings::DashboardSettings;

/// The time limit of a call. The slowest one is a sign-in's token request under load.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Shorter than the time for which services keep an idle connection, so that this side closes it first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum size of a response in bytes. None that a page needs is larger.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// A client of both services over pooled connections. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ServiceClient {
    client: reqwest::Client,
    identity: Url,
    worksession: Url,
    inside: Option<InternalSecret>,
}

/// Why the dashboard cannot call the services.
#[derive(Debug, Error)]
pub enum ClientError {
    /// A configured address cannot be the base of others.
    #[error("{0}")]
    Address(#[from] url::ParseError),
    /// The HTTP client, such as its TLS, cannot be set up.
    #[error("HTTP client: {0}")]
    Http(#[from] reqwest::Error),
}

impl ServiceClient {
    pub(crate) fn new(settings: &DashboardSettings) -> Result<Self, ClientError> {
        // These addresses come from the operator. The guarded client is for those that users give.
        let client = ClientBuilder::new()
            .tls_backend_preconfigured(service_kit::tls::client_config())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .build()?;
        Ok(Self {
            client,
            identity: settings.identity_url.clone(),
            worksession: settings.worksession_url.clone(),
            inside: settings.inside.clone(),
        })
    }

    /// Creates a call of the identity service that carries no access token.
    pub(crate) fn post_identity(&self, path: &str) -> Result<RequestBuilder, url::ParseError> {
        let address = join_url(&self.identity, path)?;
        let mut request = self.client.post(address).timeout(CALL_TIMEOUT);
        if let Some(inside) = &self.inside {
            request = request.header(InternalSecret::HEADER, inside.expose());
        }
        Ok(request)
    }

    /// Returns a caller with this token, on behalf of this request.
    pub(crate) fn caller<'a>(&'a self, token: &'a str, request_id: &'a RequestId) -> ApiClient<'a> {
        ApiClient {
            http: self,
            token,
            request_id,
        }
    }
}

/// A caller of the services with a user's token.
#[derive(Clone, Copy)]
pub(crate) struct ApiClient<'a> {
    http: &'a ServiceClient,
    token: &'a str,
    request_id: &'a RequestId,
}

impl ApiClient<'_> {
    pub(crate) async fn get<T: DeserializeOwned>(self, path: &str) -> Result<T, ApiError> {
        self.read(&self.http.worksession, path).await
    }

    /// Loads what the work-session service knows about the user, which every page needs.
    pub(crate) async fn user_data(self) -> Result<UserData, ApiError> {
        self.get("/api/user/data").await
    }

    pub(crate) async fn identity<T: DeserializeOwned>(self, path: &str) -> Result<T, ApiError> {
        self.read(&self.http.identity, path).await
    }

    /// Describes who configured an integration, and with which application.
    pub(crate) async fn creator(self, user: Option<i64>, client: Option<&str>) -> String {
        let name = match user {
            Some(id) => {
                let path = format!("/api/auth/user/{id}");
                let found = self.identity::<UserBody>(&path).await.ok();
                found.map(|found| found.user.username)
            }
            None => None,
        };
        let name = name.unwrap_or_else(|| t("dashboard-creator-unknown").into());
        match client {
            Some(client) => t("dashboard-creator-application")
                .with("creator", name)
                .with("client", client)
                .into(),
            None => name,
        }
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        self,
        method: Method,
        path: &str,
        body: Value,
    ) -> Result<T, ApiError> {
        let request = self.request(method, &self.http.worksession, path)?;
        answer(request.json(&body).timeout(CALL_TIMEOUT).send().await).await
    }

    /// Sends a change with an idempotency key: the same key again changes nothing more.
    pub(crate) async fn send_once<T: DeserializeOwned>(
        self,
        path: &str,
        key: &str,
        body: Value,
    ) -> Result<T, ApiError> {
        let request = self.request(Method::POST, &self.http.worksession, path)?;
        let request = request.header("idempotency-key", key).json(&body);
        answer(request.timeout(CALL_TIMEOUT).send().await).await
    }

    /// Opens a file of the work-session service, to be forwarded as it arrives. Its body may take long.
    pub(crate) async fn open(self, path: &str) -> Result<Response, ApiError> {
        let request = self.request(Method::GET, &self.http.worksession, path)?;
        begun(request).await
    }

    pub(crate) async fn stream(
        self,
        path: &str,
        last_event: Option<&[u8]>,
    ) -> Result<Response, ApiError> {
        let mut request = self.request(Method::GET, &self.http.worksession, path)?;
        request = request.header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event {
            request = request.header("last-event-id", id);
        }
        begun(request).await
    }

    async fn read<T: DeserializeOwned>(&self, base: &Url, path: &str) -> Result<T, ApiError> {
        let send = async || {
            let request = self.request(Method::GET, base, path)?;
            Ok::<_, ApiError>(request.timeout(CALL_TIMEOUT).send().await)
        };
        match send().await? {
            // The service may have closed the pooled connection, and a repeated read is harmless.
            Err(cause) if cause.is_request() && !cause.is_timeout() => answer(send().await?).await,
            response => answer(response).await,
        }
    }

    fn request(&self, method: Method, base: &Url, path: &str) -> Result<RequestBuilder, ApiError> {
        let address = join_url(base, path).map_err(ApiError::unavailable)?;
        let request = self.http.client.request(method, address);
        let request = request.bearer_auth(self.token);
        Ok(request.header("x-request-id", self.request_id.as_str()))
    }
}

/// Returns the chunks of a body as they arrive.
pub(crate) fn chunks(response: Response) -> impl Stream<Item = reqwest::Result<Bytes>> {
    stream::try_unfold(response, async |mut response| {
        let chunk: Option<Bytes> = response.chunk().await?;
        Ok::<_, reqwest::Error>(chunk.map(|chunk| (chunk, response)))
    })
}

async fn answer<T: DeserializeOwned>(response: reqwest::Result<Response>) -> Result<T, ApiError> {
    let response = good(response).await?;
    let body = bounded(response).await?;
    // A 204 has no body, which is parsed as null.
    let body = if body.is_empty() { b"null" } else { &body[..] };
    serde_json::from_slice(body).map_err(ApiError::unavailable)
}

/// Sends a request whose response must begin in time. Its body may take as long as it needs.
async fn begun(request: RequestBuilder) -> Result<Response, ApiError> {
    let answered = timeout(CALL_TIMEOUT, request.send()).await;
    good(answered.map_err(ApiError::unavailable)?).await
}

/// Returns a successful response with its body unread.
async fn good(response: reqwest::Result<Response>) -> Result<Response, ApiError> {
    let response = response.map_err(ApiError::unavailable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let retry_after = response.headers().get(RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let body = bounded(response).await.unwrap_or_default();
    let status = StatusCode::from_u16(status.as_u16()).unwrap_or(StatusCode::BAD_GATEWAY);
    Err(ApiRejection::read(status, retry_after, &body).into())
}

async fn bounded(mut response: Response) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(ApiError::unavailable)? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(ApiError::unavailable("an answer is too long"));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
