use std::borrow::Cow;
use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use serde_json::Value;

/// An error as the caller sees it. An internal cause goes to the log with the request id, never into the body.
///
/// Handlers return service errors, which become problems. The server renders a problem in the shape of its area, so that the
/// error of an extractor looks like that of a handler.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// The stable code in the identity area; the work-session area shows only the message.
    pub code: &'static str,
    /// A sentence for people.
    pub message: Cow<'static, str>,
    /// Seconds, sent as `Retry-After`.
    pub retry_after: Option<u64>,
    /// The methods that the resource supports, sent as `Allow`.
    pub allow: Option<Box<str>>,
    /// Additional fields of the body, such as `valid`.
    pub extra: Vec<(&'static str, Value)>,
    /// The internal cause, for the log.
    pub(crate) cause: Option<Box<str>>,
}

/// A function that renders the body of a problem for an area.
pub type RenderProblem = fn(&Problem) -> Value;

/// A function that renders the page of a problem for a browser; none if the request comes from a program.
pub type RenderPage = fn(&Problem, &HttpRequest) -> Option<HttpResponse>;

impl Problem {
    /// Creates a problem with this status, code and sentence.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            retry_after: None,
            allow: None,
            extra: Vec::new(),
            cause: None,
        }
    }

    /// Creates a 400 `validation_failed`. The sentence says what is wrong with the request.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "validation_failed", message)
    }

    /// Creates a 404 `not_found`: there is no such path.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found")
    }

    /// Creates a 413 `payload_too_large`: the body is over `limit` bytes.
    #[must_use]
    pub fn payload_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("The request body is over {limit} bytes"),
        )
    }

    /// Creates a 408 `validation_failed`: the body did not arrive in time.
    #[must_use]
    pub fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "validation_failed",
            "The request body did not arrive in time",
        )
    }

    /// Creates a 429 `rate_limited`. The caller may try again after `retry_after` seconds.
    #[must_use]
    pub fn rate_limited(retry_after: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "Too many requests",
        )
        .with_retry_after(retry_after)
    }

    /// Creates a 503 `unavailable`: a transient failure. The caller may try again after `retry_after` seconds.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .with_retry_after(retry_after)
    }

    /// Creates a 500 `internal_error`. The cause goes to the log only.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "Internal error",
        )
        .caused_by(cause)
    }

    /// Adds the internal cause, for the log only.
    #[must_use]
    pub fn caused_by(mut self, cause: impl fmt::Display) -> Self {
        self.cause = Some(cause.to_string().into());
        self
    }

    /// Sets `Retry-After`, in seconds.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Adds a field to the body.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.extra.push((key, value.into()));
        self
    }

    /// Returns the problem for a response that a lower layer created without one, by its status.
    pub(crate) fn from_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::not_found(),
            StatusCode::METHOD_NOT_ALLOWED => {
                Self::new(status, "method_not_allowed", "Method not allowed")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                Self::new(status, "payload_too_large", "The request body is too large")
            }
            status if status.is_server_error() => {
                Self::new(status, "internal_error", "Internal error")
            }
            status => Self::new(status, "validation_failed", "The request is malformed"),
        }
    }

    /// Renders the response to this request: a page if the area has one for it, else as [`Problem::render`].
    pub(crate) fn render_for(
        &self,
        request: &HttpRequest,
        render: RenderProblem,
        render_page: Option<RenderPage>,
    ) -> HttpResponse {
        let plain = self.render(render);
        let page = render_page.and_then(|page| page(self, request));
        let Some(mut page) = page else {
            return plain;
        };
        for name in [header::RETRY_AFTER, header::ALLOW] {
            if let Some(value) = plain.headers().get(&name) {
                page.headers_mut().insert(name, value.clone());
            }
        }
        page
    }

    /// Returns the body in an area's shape.
    #[must_use]
    pub fn body(&self, render: RenderProblem) -> Value {
        let mut body = render(self);
        if let Some(object) = body.as_object_mut() {
            for (key, value) in &self.extra {
                object.insert((*key).to_owned(), value.clone());
            }
        }
        body
    }

    /// Returns the whole response in an area's shape.
    pub(crate) fn render(&self, render: RenderProblem) -> HttpResponse {
        let body = self.body(render);
        let mut response = HttpResponse::build(self.status);
        if let Some(seconds) = self.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        if let Some(allow) = self
            .allow
            .as_deref()
            .and_then(|allow| HeaderValue::from_str(allow).ok())
        {
            response.insert_header((header::ALLOW, allow));
        }
        // RFC 6750 section 3: a 401 names the authentication scheme.
        if self.status == StatusCode::UNAUTHORIZED {
            response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        }
        response.json(body)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.status.as_u16(),
            self.code,
            self.message
        )
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    /// Returns an empty response that carries the problem to the server's outermost layer, which knows the area's shape.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::new(self.status);
        response.extensions_mut().insert(self.clone());
        response
    }
}

/// Lets handlers return the error type of a service, which becomes a [`Problem`] in the response.
#[macro_export]
macro_rules! respond_with_problem {
    ($error:ty) => {
        impl ::actix_web::ResponseError for $error {
            fn status_code(&self) -> ::actix_web::http::StatusCode {
                $crate::Problem::from(self).status
            }

            fn error_response(&self) -> ::actix_web::HttpResponse {
                ::actix_web::ResponseError::error_response(&$crate::Problem::from(self))
            }
        }
    };
}
