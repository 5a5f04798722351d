use std::borrow::Cow;
use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse, ResponseError};
use serde_json::Value;

/// An error as it goes to the caller. An internal cause goes to the log with the request's id, never into the body.
///
/// Handlers return service errors that become problems; the server renders a problem in the shape of
/// its area, so that an extractor's refusal looks like a handler's.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// The stable code of the identity area; the work-session area shows only the message.
    pub code: &'static str,
    /// A sentence for people.
    pub message: Cow<'static, str>,
    /// Seconds, sent as `Retry-After`.
    pub retry_after: Option<u64>,
    /// The methods that the resource knows, sent as `Allow`.
    pub allow: Option<Box<str>>,
    /// More fields of the body, such as `valid`.
    pub extra: Vec<(&'static str, Value)>,
    /// What really happened, for the log.
    pub(crate) cause: Option<Box<str>>,
}

/// How an area writes the body of a problem.
pub type RenderProblem = fn(&Problem) -> Value;

/// How an area shows a problem to who came with a browser; none where the request is a program's.
pub type RenderPage = fn(&Problem, &HttpRequest) -> Option<HttpResponse>;

impl Problem {
    /// A problem with this status, code and sentence.
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

    /// 400 `validation_failed`: the request does not fit, and the sentence says how.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "validation_failed", message)
    }

    /// 404 `not_found`: no such path.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found")
    }

    /// 413 `payload_too_large`: the body is over `limit` bytes.
    #[must_use]
    pub fn payload_too_large(limit: usize) -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload_too_large",
            format!("The request body is over {limit} bytes"),
        )
    }

    /// 408: the body did not arrive in time.
    #[must_use]
    pub fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "validation_failed",
            "The request body did not arrive in time",
        )
    }

    /// 429 `rate_limited`.
    #[must_use]
    pub fn rate_limited(retry_after: u64) -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "Too many requests",
        )
        .with_retry_after(retry_after)
    }

    /// 503 `unavailable`: passing; the caller may try again after so many seconds.
    pub fn unavailable(message: impl Into<Cow<'static, str>>, retry_after: u64) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            .with_retry_after(retry_after)
    }

    /// 500 `internal_error`. The cause goes to the log and nowhere else.
    pub fn internal(cause: impl fmt::Display) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal_error",
            "Internal error",
        )
        .caused_by(cause)
    }

    /// Adds what really happened, for the log alone.
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

    /// What stands for an answer that was made below us without a problem, by its status.
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

    /// The answer to this request: a page where the area has one for it, else as [`Problem::render`].
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

    /// The body in an area's shape.
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

    /// The whole answer in an area's shape.
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
        // RFC 6750 section 3: a 401 names the scheme.
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

    /// An empty answer that carries the problem to the server's outermost layer, which knows the area's shape.
    fn error_response(&self) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::new(self.status);
        response.extensions_mut().insert(self.clone());
        response
    }
}

/// Lets a service's error type be returned from handlers: it becomes a [`Problem`] on its way out.
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
