use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use uuid::Uuid;

/// The header that carries the id in requests and responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request in responses, logs, calls to the other service, and events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Returns the caller's id if it has 1 to 64 letters, digits, `-`, `_` and `.`, else a new one.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
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

    /// Returns the text of the id.
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
        ready(Ok(
            known.unwrap_or_else(|| Self::from_headers(req.headers()))
        ))
    }
}
