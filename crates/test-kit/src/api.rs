use std::{io::Read, net::SocketAddr, time::Duration};

use flate2::read::GzDecoder;
use reqwest::{
    Client, Method, RequestBuilder,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// No response takes this long; a test that waits longer has found a hang.
const HANG: Duration = Duration::from_secs(20);

/// An HTTP client of one area. Cheap to clone; follows no redirects.
#[derive(Debug, Clone)]
pub struct ApiClient {
    client: Client,
    base: String,
}

/// A request that is being built.
#[derive(Debug)]
#[must_use = "a call does nothing until it is sent"]
pub struct ApiRequest {
    builder: RequestBuilder,
    name: String,
}

/// A response, read to its end.
#[derive(Debug, Clone)]
pub struct ApiResponse {
    /// The method and path of the request, for messages.
    pub call: String,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl ApiClient {
    /// Creates a client of the area at `base`, which has no trailing slash.
    pub fn new(base: impl Into<String>) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a test calls only what it started"
        )]
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(HANG)
            .build()
            .unwrap();
        Self {
            client,
            base: base.into(),
        }
    }

    /// Returns the base URL.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Starts a GET.
    pub fn get(&self, path: &str) -> ApiRequest {
        self.call(Method::GET, path)
    }

    /// Starts a POST.
    pub fn post(&self, path: &str) -> ApiRequest {
        self.call(Method::POST, path)
    }

    /// Starts a PUT.
    pub fn put(&self, path: &str) -> ApiRequest {
        self.call(Method::PUT, path)
    }

    /// Starts a DELETE.
    pub fn delete(&self, path: &str) -> ApiRequest {
        self.call(Method::DELETE, path)
    }

    /// Returns a metric of `/metrics`; `named` is its name with its labels, as they appear there.
    pub async fn metric(&self, named: &str) -> u64 {
        let metric = self.find_metric(named).await;
        metric.unwrap_or_else(|| panic!("no {named}"))
    }

    /// Returns how many database statements requests of this method and route have executed.
    pub async fn statements(&self, method: &str, route: &str) -> u64 {
        let labels = format!("{{method=\"{method}\",route=\"{route}\"}}");
        let named = format!("http_request_statements_total{labels}");
        // The metric does not exist before the first statement.
        self.find_metric(&named).await.unwrap_or(0)
    }

    async fn find_metric(&self, named: &str) -> Option<u64> {
        let metrics = self.get("/metrics").send().await.expect(200).text();
        metrics.lines().find_map(|line| {
            let value = line.strip_prefix(named)?.strip_prefix(' ')?;
            Some(value.trim().parse().unwrap())
        })
    }

    /// Starts a request with any method.
    pub fn call(&self, method: Method, path: &str) -> ApiRequest {
        let name = format!("{method} {path}");
        ApiRequest {
            builder: self.client.request(method, format!("{}{path}", self.base)),
            name,
        }
    }
}

impl ApiRequest {
    /// Adds an access token.
    pub fn bearer(self, token: &str) -> Self {
        self.with(|builder| builder.bearer_auth(token))
    }

    /// Adds a JSON body.
    pub fn json(self, body: Value) -> Self {
        self.with(|builder| builder.json(&body))
    }

    /// Adds a body of any bytes, with the content type `content_type`.
    pub fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.with(|builder| builder.header(CONTENT_TYPE, content_type).body(body.into()))
    }

    /// Adds a header; one that is added twice is sent twice.
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.with(|builder| builder.header(name, value))
    }

    /// Sends the request; panics when there is no response.
    pub async fn send(self) -> ApiResponse {
        let name = self.name.clone();
        self.try_send()
            .await
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// Sends the request; an error is a connection that broke, or silence.
    pub async fn try_send(self) -> Result<ApiResponse, reqwest::Error> {
        let response = self.builder.send().await?;
        Ok(ApiResponse {
            call: self.name,
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes().await?.into(),
        })
    }

    fn with(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        Self {
            builder: change(self.builder),
            name: self.name,
        }
    }
}

impl ApiResponse {
    /// Returns the body as JSON; panics, showing the body, when it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: {error}: {:?}", self.call, self.text()))
    }

    /// Returns the body as text, unpacked if it was sent with gzip.
    pub fn text(&self) -> String {
        if self.header("content-encoding") != "gzip" {
            return String::from_utf8_lossy(&self.body).into_owned();
        }
        let mut text = String::new();
        let read = GzDecoder::new(self.body.as_slice()).read_to_string(&mut text);
        read.unwrap_or_else(|error| panic!("{}: {error}", self.call));
        text
    }

    /// Returns the value of a header, or "".
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Checks the status; panics, showing the response, when it is another one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.call, self.text());
        self
    }
}

/// Sends bytes as they are, for requests that no client library sends. Returns what arrives until the server closes the
/// connection; panics on silence.
pub async fn raw_request(address: SocketAddr, request: &[u8]) -> String {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The server may respond and close before it has read everything.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            answer.extend_from_slice(&chunk[..length]);
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::time::timeout(HANG, exchange)
        .await
        .expect("the server closed the connection")
}
