use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use uuid::Uuid;

/// The header that carries the id in requests and answers.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Names one request in answers, logs, calls to the other service and events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The caller's id when it is a sane token of at most 64 characters, else a new one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let sane = |id: &&str| {
            (1..=64).contains(&id.len())
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        };
        match headers
            .get(HEADER)
            .and_then(|value| value.to_str().ok())
            .filter(sane)
        {
            Some(id) => Self(id.into()),
            None => Self(Uuid::now_v7().simple().to_string().into()),
        }
    }

    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromRequest for RequestId {
    type Error = Infallible;
    type Future = Ready<Result<Self, Infallible>>;

    fn from_request(req: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let known = req.extensions().get::<Self>().cloned();
        ready(Ok(known.unwrap_or_else(|| Self::of(req.headers()))))
    }
}
