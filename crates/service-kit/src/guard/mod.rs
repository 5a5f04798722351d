//! The guarded HTTP client: every call to an address that a user gave (chat hooks, photo URLs)
//! goes through it, so that nobody can make the service knock at doors inside its own network.
//!
//! https only unless plain http is allowed on purpose; no redirects; no proxy from the environment;
//! every address is checked after resolution and before connecting, and literals in the URL too,
//! because the HTTP library never asks its resolver about those. Errors and logs carry no URL: a hook
//! URL is a secret.

mod address;
mod resolver;

use std::{
    error::Error as _,
    fmt,
    net::IpAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use actix_web::http::header::HttpDate;
use ipnet::IpNet;
use reqwest::{
    Client, Method, RequestBuilder, Response,
    header::{ACCEPT, DATE, HeaderMap, HeaderName, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use resolver::{FilteringResolver, Lookup, NothingAllowed};

/// Connections to one host that are kept for the next calls, for half a minute: the hooks of all teams may lie at the same
/// one, and making a connection costs more than the call.
const IDLE_CONNECTIONS: usize = 64;

/// How the client is set up.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// Networks that may be called although they are not public (self-hosted chat, tests).
    pub allowed_cidrs: Vec<IpNet>,
    /// Also allow `http://`.
    pub allow_plain: bool,
    /// Time for a whole call: resolving, connecting, answer and body.
    pub timeout: Duration,
    /// Bytes of an answer's body that are kept; the rest is not read.
    pub max_body: usize,
}

/// A client for URLs that users give. Cheap to clone.
#[derive(Clone)]
pub struct GuardedClient {
    client: Client,
    rules: Arc<Rules>,
}

/// What the other side answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status. A redirect is an answer like any other: it is not followed.
    pub status: u16,
    /// How long the other side asked us to wait (`Retry-After`, in seconds or as a date).
    pub retry_after: Option<Duration>,
    /// The body, up to the limit.
    pub body: Vec<u8>,
    /// False when the body was longer than the limit, broke off or took too long. The status holds
    /// all the same: a hook that answered 200 has taken the message.
    pub complete: bool,
}

/// Why there was no answer. Never says where the call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Not an absolute URL with a host.
    #[error("not a valid URL")]
    InvalidUrl,
    /// Neither https nor, where allowed, http.
    #[error("the URL must start with https://")]
    SchemeNotAllowed,
    /// The host is, or resolves only to, addresses that must not be called.
    #[error("the address is not a public one")]
    ForbiddenAddress,
    /// Nothing came in time.
    #[error("no answer in time")]
    Timeout,
    /// The name did not resolve, nobody listened or TLS failed: nothing was sent.
    #[error("could not connect")]
    Connect,
    /// The connection broke, or the answer was not HTTP, after something was sent.
    #[error("the connection broke before the answer")]
    Broken,
    /// The TLS library did not come up.
    #[error("the HTTP client could not be set up")]
    Setup,
}

struct Rules {
    allowed: Vec<IpNet>,
    allow_plain: bool,
    max_body: usize,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            allowed_cidrs: Vec::new(),
            allow_plain: false,
            timeout: Duration::from_secs(10),
            max_body: 64 * 1024,
        }
    }
}

impl GuardedClient {
    /// Sets the client up; connects to nothing.
    pub fn new(options: GuardOptions) -> Result<Self, GuardError> {
        Self::asking(resolver::system(), options)
    }

    fn asking(lookup: Lookup, options: GuardOptions) -> Result<Self, GuardError> {
        let rules = Arc::new(Rules {
            allowed: options.allowed_cidrs,
            allow_plain: options.allow_plain,
            max_body: options.max_body,
        });
        #[expect(clippy::disallowed_methods, reason = "this is the guarded client")]
        let client = Client::builder()
            .tls_backend_preconfigured(crate::tls::client_config())
            .user_agent(concat!("Holdfast/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .https_only(!options.allow_plain)
            .timeout(options.timeout)
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .dns_resolver(FilteringResolver::new(lookup, rules.clone()))
            .build()
            .map_err(|_| GuardError::Setup)?;
        Ok(Self { client, rules })
    }

    /// Checks syntax and scheme of a URL as a user typed it. Addresses are checked when it is called:
    /// what a name resolves to now says nothing about then.
    pub fn check_url(&self, url: &str) -> Result<Url, GuardError> {
        let url = Url::parse(url).map_err(|_| GuardError::InvalidUrl)?;
        self.rules.check_scheme(&url)?;
        if url.has_host() {
            Ok(url)
        } else {
            Err(GuardError::InvalidUrl)
        }
    }

    /// Posts `body` as JSON; with `bearer` as the call's authorization.
    pub async fn post_json(
        &self,
        url: &Url,
        body: &serde_json::Value,
        bearer: Option<&SecretString>,
    ) -> Result<Answer, GuardError> {
        self.send_json(Method::POST, url, body, bearer).await
    }

    /// [`Self::post_json`] with PUT.
    pub async fn put_json(
        &self,
        url: &Url,
        body: &serde_json::Value,
        bearer: Option<&SecretString>,
    ) -> Result<Answer, GuardError> {
        self.send_json(Method::PUT, url, body, bearer).await
    }

    async fn send_json(
        &self,
        method: Method,
        url: &Url,
        body: &serde_json::Value,
        bearer: Option<&SecretString>,
    ) -> Result<Answer, GuardError> {
        let mut request = self.client.request(method, url.clone()).json(body);
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer.expose_secret());
        }
        let response = self.send(url, request).await?;
        Ok(read(response, self.rules.max_body).await)
    }

    /// Posts `body` as it is, with `headers`, which say its type too.
    pub async fn post(
        &self,
        url: &Url,
        body: String,
        headers: &[(&'static str, &str)],
    ) -> Result<Answer, GuardError> {
        let mut request = self.client.post(url.clone()).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(url, request).await?;
        Ok(read(response, self.rules.max_body).await)
    }

    /// Fetches what is there, once. An answer that announces more than the limit is not read at all.
    pub async fn get(&self, url: &Url, accept: &'static str) -> Result<Answer, GuardError> {
        let request = self.client.get(url.clone()).header(ACCEPT, accept);
        let response = self.send(url, request).await?;
        let limit = self.rules.max_body;
        let announced = response.content_length();
        if announced.is_some_and(|length| usize::try_from(length).map_or(true, |n| n > limit)) {
            return Ok(Answer {
                status: response.status().as_u16(),
                retry_after: retry_after(response.headers()),
                body: Vec::new(),
                complete: false,
            });
        }
        Ok(read(response, limit).await)
    }

    async fn send(&self, url: &Url, request: RequestBuilder) -> Result<Response, GuardError> {
        self.rules.check(url)?;
        request.send().await.map_err(|error| classify(&error))
    }
}

impl fmt::Debug for GuardedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedClient")
            .field("allowed", &self.rules.allowed)
            .field("allow_plain", &self.rules.allow_plain)
            .finish_non_exhaustive()
    }
}

impl Rules {
    fn check(&self, url: &Url) -> Result<(), GuardError> {
        self.check_scheme(url)?;
        // WHATWG parsing has already turned 0x7f.1, 017700000001, 2130706433 and the like into an
        // address.
        let literal = match url.host().ok_or(GuardError::InvalidUrl)? {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        if self.may_call(literal) {
            Ok(())
        } else {
            Err(GuardError::ForbiddenAddress)
        }
    }

    fn check_scheme(&self, url: &Url) -> Result<(), GuardError> {
        match url.scheme() {
            "https" => Ok(()),
            "http" if self.allow_plain => Ok(()),
            _ => Err(GuardError::SchemeNotAllowed),
        }
    }

    fn may_call(&self, address: IpAddr) -> bool {
        address::is_public(address) || self.allowed.iter().any(|net| net.contains(&address))
    }
}

fn classify(error: &reqwest::Error) -> GuardError {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.is::<NothingAllowed>() {
            return GuardError::ForbiddenAddress;
        }
        cause = inner.source();
    }
    if error.is_connect() {
        GuardError::Connect
    } else if error.is_timeout() {
        GuardError::Timeout
    } else {
        GuardError::Broken
    }
}

async fn read(mut response: Response, limit: usize) -> Answer {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    let mut body = Vec::new();
    let complete = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = limit - body.len();
                body.extend(chunk.iter().take(room));
                if chunk.len() > room {
                    break false;
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    Answer {
        status,
        retry_after,
        body,
        complete,
    }
}

/// RFC 9110 §10.2.3. A date is read against the answer's own `Date`, so that two clocks that
/// disagree do not change the wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let value = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = |text: &str| text.parse::<HttpDate>().ok().map(SystemTime::from);
    #[expect(
        clippy::disallowed_methods,
        reason = "the other side's clock is the real one"
    )]
    let now = text(DATE).and_then(date).unwrap_or_else(SystemTime::now);
    Some(date(value)?.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests;
