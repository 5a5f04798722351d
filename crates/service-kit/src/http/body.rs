use std::future::{Ready, ready};
use std::time::{Duration, Instant};

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{FromRequest, HttpMessage as _, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ClientIp;
use super::budget::{BodyBudget, BodyHolder, BodyPermit, MEDIUM, TINY};
use super::json::parse_object;
use crate::Problem;

/// Limits on the size and duration of requests.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum size of a JSON body in bytes, at least 1. A larger one receives 413.
    pub json_bytes: usize,
    /// The maximum size of all headers together in bytes, at least 1. Larger ones receive 431.
    pub header_bytes: usize,
    /// Seconds within which a body must arrive, at least 1. A slower one receives 408.
    pub body_seconds: u64,
    /// MiB of memory for all bodies over 64 KiB that are received at the same time, at least 1. Further ones receive 503. If not
    /// set, it is 3/16 of the memory limit (the control group's, or half of the machine's memory), from 16 to 256.
    pub large_bodies_mib: Option<u32>,
    /// Connections that may be open at the same time, at least 1; further ones wait. If not set, it is one for each 128 KiB of
    /// the memory limit, from 256 to 50,000.
    pub connections: Option<usize>,
}

impl Limits {
    /// Returns the key of each limit and whether its value is 0, which would reject every request or body.
    #[must_use]
    pub fn zeros(&self) -> [(&'static str, bool); 5] {
        [
            ("LIMITS__JSON_BYTES", self.json_bytes == 0),
            ("LIMITS__HEADER_BYTES", self.header_bytes == 0),
            ("LIMITS__BODY_SECONDS", self.body_seconds == 0),
            ("LIMITS__LARGE_BODIES_MIB", self.large_bodies_mib == Some(0)),
            ("LIMITS__CONNECTIONS", self.connections == Some(0)),
        ]
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json_bytes: 64 * 1024,
            header_bytes: 16 * 1024,
            body_seconds: 30,
            large_bodies_mib: None,
            connections: None,
        }
    }
}

/// A JSON body that was read but not yet checked.
///
/// The extractors of a handler run concurrently, and the token has to be checked before the body: a malformed body must not turn
/// a 401 into a 400. This extractor therefore never fails. The handler calls [`Json::into_inner`] once its other arguments are
/// accepted.
#[derive(Debug)]
pub struct Json<T>(Result<T, Problem>);

impl<T> Json<T> {
    /// Returns the value.
    ///
    /// # Errors
    /// 413 over [`Limits::json_bytes`]; 400 for another content type, invalid JSON, JSON of another shape, and text with NUL; the
    /// others of [`UnreadBody::bytes`].
    pub fn into_inner(self) -> Result<T, Problem> {
        self.0
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for Json<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = has_json_content_type(req);
        let body = read(req, payload, None, None);
        Box::pin(async move {
            let parsed = body.await.and_then(|bytes| parse(is_json, &bytes));
            Ok(Self(parsed))
        })
    }
}

/// A JSON body that may be absent: an empty body is `None`, whatever its content type.
#[derive(Debug)]
pub struct OptionalJson<T>(Result<Option<T>, Problem>);

impl<T> OptionalJson<T> {
    /// Returns the value, if a body was sent.
    ///
    /// # Errors
    /// Those of [`Json::into_inner`].
    pub fn into_inner(self) -> Result<Option<T>, Problem> {
        self.0
    }
}

impl<T: DeserializeOwned + 'static> FromRequest for OptionalJson<T> {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = has_json_content_type(req);
        let body = read(req, payload, None, None);
        Box::pin(async move {
            let parsed = body.await.and_then(|bytes| match bytes.is_empty() {
                true => Ok(None),
                false => parse(is_json, &bytes).map(Some),
            });
            Ok(Self(parsed))
        })
    }
}

/// A body that is not read yet, for bodies larger than most. The handler reads it with a limit of its own, once it has checked
/// who the caller is and what they may do.
pub struct UnreadBody {
    req: HttpRequest,
    payload: Payload,
    account: Option<i64>,
}

impl FromRequest for UnreadBody {
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self {
            req: req.clone(),
            payload: payload.take(),
            account: None,
        }))
    }
}

impl UnreadBody {
    /// Counts the body as one of this account, whose large bodies are counted together.
    #[must_use]
    pub fn of_account(mut self, account: i64) -> Self {
        self.account = Some(account);
        self
    }

    /// Reads the bytes, at most `limit` of them.
    ///
    /// # Errors
    /// 413 over the limit, 408 after [`Limits::body_seconds`], 400 for a body that breaks off, 503 when [`BodyBudget`] has no
    /// room, and the error of a [`SlowBodyCheck`].
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, Problem> {
        read(&self.req, &mut self.payload, Some(limit), self.account).await
    }

    /// Reads the bytes as JSON.
    ///
    /// # Errors
    /// Those of [`UnreadBody::bytes`] and [`Json::into_inner`].
    pub async fn json<T: DeserializeOwned>(self, limit: usize) -> Result<T, Problem> {
        let is_json = has_json_content_type(&self.req);
        parse(is_json, &self.bytes(limit).await?)
    }

    /// Returns the headers of the request.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.req.headers()
    }

    /// Returns the body as a stream, and how long all of it may take. The caller counts the bytes.
    ///
    /// # Errors
    /// 413 when the announced length is over `limit`, 503 when [`BodyBudget`] has no room for the body.
    pub fn into_stream(self, limit: usize) -> Result<(Payload, Duration), Problem> {
        let announced = announced(&self.req);
        if announced.is_some_and(|length| length > limit) {
            return Err(Problem::payload_too_large(limit));
        }
        BodyReservation::new(&self.req, self.account).cover(announced.unwrap_or(limit))?;
        let seconds = limits(&self.req).body_seconds;
        Ok((self.payload, Duration::from_secs(seconds)))
    }
}

/// A second check of the caller, after a body that was slow to arrive. Extractors run concurrently, and a token that was valid
/// when the headers came may have been revoked since. It is app data; without it there is no second check.
#[derive(Debug, Clone, Copy)]
pub struct SlowBodyCheck(pub fn(HttpRequest) -> LocalBoxFuture<'static, Result<(), Problem>>);

/// A body that arrives within this time is not slow.
const PROMPT: Duration = Duration::from_millis(500);

/// The part of the budget that a request's body holds until the request is answered.
struct BodyReservation {
    req: HttpRequest,
    account: Option<i64>,
    covered: usize,
}

impl BodyReservation {
    fn new(req: &HttpRequest, account: Option<i64>) -> Self {
        Self {
            req: req.clone(),
            account,
            covered: TINY,
        }
    }

    /// Makes the share at least this large.
    fn cover(&mut self, bytes: usize) -> Result<(), Problem> {
        let budget = self.req.app_data::<Data<BodyBudget>>();
        let Some(budget) = budget.filter(|_| bytes > self.covered) else {
            return Ok(());
        };
        let holder = match self.account {
            Some(account) => BodyHolder::Account(account),
            None => BodyHolder::Address(ClientIp::find(&self.req).0),
        };
        let mut extensions = self.req.extensions_mut();
        // The smaller share is returned first, so that a body counts once.
        extensions.remove::<BodyPermit>();
        if let Some(permit) = budget.take(holder, bytes)? {
            extensions.insert(permit);
        }
        self.covered = bytes;
        Ok(())
    }

    /// Makes the share large enough for a body of unknown length, which counts as the largest of its class.
    fn cover_unannounced(&mut self, bytes: usize, limit: usize) -> Result<(), Problem> {
        if bytes <= self.covered {
            return Ok(());
        }
        self.cover(if bytes <= MEDIUM {
            MEDIUM.min(limit)
        } else {
            limit
        })
    }
}

fn limits(req: &HttpRequest) -> Limits {
    req.app_data::<Data<Limits>>()
        .map_or_else(Limits::default, |limits| ***limits)
}

fn has_json_content_type(req: &HttpRequest) -> bool {
    let Some(value) = req
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
    else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or(value).trim();
    essence.eq_ignore_ascii_case("application/json")
        || (essence.to_ascii_lowercase().starts_with("application/")
            && essence.to_ascii_lowercase().ends_with("+json"))
}

fn parse<T: DeserializeOwned>(is_json: bool, bytes: &[u8]) -> Result<T, Problem> {
    if is_json {
        return parse_object(bytes);
    }
    let needed = "The request must have the header Content-Type: application/json";
    Err(Problem::bad_request(needed))
}

fn announced(req: &HttpRequest) -> Option<usize> {
    let length = req.headers().get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Reads the whole body, but no more than `limit` or else [`Limits::json_bytes`]. The time limit ends the connection of a client
/// that sends a byte now and then, or stops in the middle. The memory is counted before it is allocated.
fn read(
    req: &HttpRequest,
    payload: &mut Payload,
    limit: Option<usize>,
    account: Option<i64>,
) -> impl Future<Output = Result<Bytes, Problem>> + 'static {
    let limits = limits(req);
    let limit = limit.unwrap_or(limits.json_bytes);
    let announced = announced(req);
    let mut reservation = BodyReservation::new(req, account);
    let mut payload = payload.take();
    async move {
        if announced.is_some_and(|length| length > limit) {
            return Err(Problem::payload_too_large(limit));
        }
        let expected = announced.unwrap_or(0);
        reservation.cover(expected)?;
        let reading = async {
            let mut body = BytesMut::with_capacity(expected);
            while let Some(chunk) = payload.next().await {
                let chunk = chunk
                    .map_err(|_| Problem::bad_request("The request body could not be read"))?;
                let length = body.len() + chunk.len();
                if length > limit {
                    return Err(Problem::payload_too_large(limit));
                }
                reservation.cover_unannounced(length, limit)?;
                if length > body.capacity() {
                    body.reserve(reservation.covered - body.len());
                }
                body.extend_from_slice(&chunk);
            }
            Ok(body.freeze())
        };
        let began = Instant::now();
        let time_limit = Duration::from_secs(limits.body_seconds);
        let body = tokio::time::timeout(time_limit, reading)
            .await
            .unwrap_or_else(|_| Err(Problem::too_slow()))?;
        let check = reservation.req.app_data::<Data<SlowBodyCheck>>();
        if let Some(check) = check.filter(|_| began.elapsed() > PROMPT) {
            (check.0)(reservation.req.clone()).await?;
        }
        Ok(body)
    }
}
