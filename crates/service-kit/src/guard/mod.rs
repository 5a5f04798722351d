//! The guarded HTTP client. Every call to an address that a user gave (chats, webhooks, photo URLs) goes through it. Otherwise
//! users could make the service call addresses inside its own network (SSRF).
//!
//! It accepts https only, unless plain http is enabled, follows no redirects, and ignores proxies in the environment. Every
//! address is checked after resolution and before connecting. Literal addresses in the URL are checked too, because the HTTP
//! library does not pass them to its resolver. Errors and logs contain no URL: that of an incoming webhook is a secret.

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
pub use reqwest::Method;
use reqwest::{
    Client, RequestBuilder, Response,
    header::{ACCEPT, DATE, HeaderMap, HeaderName, RETRY_AFTER},
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use resolver::{FilteringResolver, Lookup, NoAllowedAddress};

/// Idle connections to one host, which are kept for half a minute. The incoming webhooks of all teams may be at the same host,
/// and connecting costs more than the call.
const IDLE_CONNECTIONS: usize = 64;

/// The settings of a [`GuardedClient`].
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// Networks that may be called although they are not public (self-hosted chats, tests).
    pub allowed_cidrs: Vec<IpNet>,
    /// Whether `http://` is allowed, too.
    pub allow_plain: bool,
    /// The time limit of a whole call: resolving, connecting, response and body.
    pub timeout: Duration,
    /// Bytes of a response body that are kept; the rest is not read.
    pub max_body: usize,
}

/// A client for URLs that users give. Cheap to clone.
#[derive(Clone)]
pub struct GuardedClient {
    client: Client,
    rules: Arc<AddressRules>,
}

/// The response of the called server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedResponse {
    /// The HTTP status. A redirect is a response like any other: it is not followed.
    pub status: u16,
    /// How long the server asks to wait (`Retry-After`, in seconds or as a date).
    pub retry_after: Option<Duration>,
    /// The body, up to the limit.
    pub body: Vec<u8>,
    /// Whether the body is complete. It is not if it was longer than the limit, broke off or took too long. The status is valid
    /// all the same: a chat that responded with 200 has accepted the message.
    pub complete: bool,
}

/// Why there was no response. Never contains the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The text is not an absolute URL with a host.
    #[error("not a valid URL")]
    InvalidUrl,
    /// The scheme is neither https nor, where allowed, http.
    #[error("the URL must start with https://")]
    SchemeNotAllowed,
    /// The host is, or resolves only to, addresses that must not be called.
    #[error("the address is not a public one")]
    ForbiddenAddress,
    /// No response arrived in time.
    #[error("no answer in time")]
    Timeout,
    /// The name did not resolve, nothing listened, or TLS failed. Nothing was sent.
    #[error("could not connect")]
    Connect,
    /// The connection broke, or the response was not HTTP, after something was sent.
    #[error("the connection broke before the answer")]
    Broken,
    /// The HTTP client could not be created.
    #[error("the HTTP client could not be set up")]
    Setup,
}

struct AddressRules {
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
    /// Creates the client, without connecting to anything.
    pub fn new(options: GuardOptions) -> Result<Self, GuardError> {
        Self::asking(resolver::system(), options)
    }

    fn asking(lookup: Lookup, options: GuardOptions) -> Result<Self, GuardError> {
        let rules = Arc::new(AddressRules {
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

    /// Checks the syntax and scheme of a URL that a user entered. Addresses are checked at each call, because the name may
    /// resolve to others by then.
    pub fn check_url(&self, url: &str) -> Result<Url, GuardError> {
        let url = Url::parse(url).map_err(|_| GuardError::InvalidUrl)?;
        self.rules.check_scheme(&url)?;
        if url.has_host() {
            Ok(url)
        } else {
            Err(GuardError::InvalidUrl)
        }
    }

    /// Sends `body` as JSON, with `bearer` as the authorization of the call.
    pub async fn send_json(
        &self,
        method: Method,
        url: &Url,
        body: &serde_json::Value,
        bearer: Option<&SecretString>,
    ) -> Result<GuardedResponse, GuardError> {
        let mut request = self.client.request(method, url.clone()).json(body);
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer.expose_secret());
        }
        let response = self.send(url, request).await?;
        Ok(read(response, self.rules.max_body).await)
    }

    /// Posts `body` unchanged, with `headers`, which include its content type.
    pub async fn post(
        &self,
        url: &Url,
        body: String,
        headers: &[(&'static str, &str)],
    ) -> Result<GuardedResponse, GuardError> {
        let mut request = self.client.post(url.clone()).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(url, request).await?;
        Ok(read(response, self.rules.max_body).await)
    }

    /// Fetches a resource once. A response that announces more than the limit is not read at all.
    pub async fn get(
        &self,
        url: &Url,
        accept: &'static str,
    ) -> Result<GuardedResponse, GuardError> {
        let request = self.client.get(url.clone()).header(ACCEPT, accept);
        let response = self.send(url, request).await?;
        let limit = self.rules.max_body;
        let announced = response.content_length();
        if announced.is_some_and(|length| usize::try_from(length).map_or(true, |n| n > limit)) {
            return Ok(GuardedResponse {
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

impl AddressRules {
    fn check(&self, url: &Url) -> Result<(), GuardError> {
        self.check_scheme(url)?;
        // The URL parser (WHATWG) has already converted 0x7f.1, 017700000001, 2130706433 and the like to an address.
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
        if inner.is::<NoAllowedAddress>() {
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

async fn read(mut response: Response, limit: usize) -> GuardedResponse {
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
    GuardedResponse {
        status,
        retry_after,
        body,
        complete,
    }
}

/// Returns the wait that `Retry-After` asks for (RFC 9110 section 10.2.3). A date is compared with the `Date` of the same
/// response, so that a difference between the two clocks does not change the wait.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let value = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = value.parse() {
        // Some servers send a decimal number.
        return Duration::try_from_secs_f64(seconds).ok();
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
