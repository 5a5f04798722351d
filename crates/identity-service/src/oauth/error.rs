use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::http::header::WWW_AUTHENTICATE;
use actix_web::{HttpResponse, ResponseError};
use serde_json::json;
use service_kit::Problem;
use thiserror::Error;

use crate::error::Error;

/// An error that an OAuth endpoint returns to a client (RFC 6749 section 5.2, RFC 8628 section 3.5). Its texts are for
/// developers.
#[derive(Debug, Error)]
pub(crate) enum OAuthError {
    /// A parameter is missing, repeated or malformed.
    #[error("{0}")]
    InvalidRequest(Cow<'static, str>),
    /// The client is unknown, or its secret is missing or wrong. The response does not say which.
    #[error("The client is unknown, or its authentication is missing or invalid")]
    InvalidClient,
    #[error("{0}")]
    InvalidGrant(Cow<'static, str>),
    #[error("The grant type is not supported")]
    UnsupportedGrantType,
    /// The client is not registered for the grant type.
    #[error("The client is not registered for the grant type {0}")]
    UnauthorizedClient(&'static str),
    #[error("{0}")]
    InvalidScope(Cow<'static, str>),
    #[error("The user denied access")]
    AccessDenied,
    #[error("The user has not yet decided about this device")]
    AuthorizationPending,
    #[error("Poll less often: increase the interval by five seconds")]
    SlowDown,
    #[error("The device code has expired")]
    ExpiredToken,
    /// An error that the client did not cause, or that every endpoint reports alike.
    #[error("{0}")]
    Other(Problem),
}

impl OAuthError {
    pub(crate) fn invalid_request(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::InvalidRequest(sentence.into())
    }

    pub(crate) fn invalid_grant(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::InvalidGrant(sentence.into())
    }

    /// Returns the value of the field `error`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant(_) => "invalid_grant",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnauthorizedClient(_) => "unauthorized_client",
            Self::InvalidScope(_) => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::Other(problem) => problem.code,
        }
    }
}

impl From<Error> for OAuthError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidRefreshToken | Error::RefreshTokenReused => {
                Self::InvalidGrant(error.to_string().into())
            }
            // The account, its session or the client ended while the request was in progress.
            Error::TokenRevoked => Self::invalid_grant("The access was revoked"),
            error => Self::Other(Problem::from(&error)),
        }
    }
}

impl From<Problem> for OAuthError {
    fn from(problem: Problem) -> Self {
        match problem.status {
            StatusCode::BAD_REQUEST => Self::InvalidRequest(problem.message),
            _ => Self::Other(problem),
        }
    }
}

impl ResponseError for OAuthError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::InvalidClient => StatusCode::UNAUTHORIZED,
            Self::Other(problem) => problem.status,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let Self::Other(problem) = self {
            return problem.error_response();
        }
        let mut response = HttpResponse::build(self.status_code());
        if matches!(self, Self::InvalidClient) {
            // RFC 6749 section 5.2 requires this header if the client sent `Authorization`, RFC 9110 section 15.5.2 always.
            response.insert_header((WWW_AUTHENTICATE, r#"Basic realm="OAuth client""#));
        }
        response.json(json!({ "error": self.code(), "error_description": self.to_string() }))
    }
}
