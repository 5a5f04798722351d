//! What can go wrong, once for the whole service, and what of it the caller is told.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use db_kit::DbError;
use serde_json::{Value, json};
use service_kit::Problem;
use thiserror::Error;

/// When who met a full queue or a missing database may try again.
const BUSY_RETRY_SECONDS: u64 = 2;

/// Every way in which an operation of the identity area ends without its answer.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Validation(Cow<'static, str>),
    #[error("the username is taken")]
    UsernameTaken,
    #[error("the e-mail address is taken")]
    EmailTaken,
    #[error("a password has at most 72 bytes")]
    PasswordTooLong,
    #[error("wrong username or password")]
    InvalidCredentials,
    #[error("a bearer token is required")]
    AuthenticationRequired,
    #[error("the access token is not valid")]
    InvalidToken,
    #[error("the access token has expired")]
    TokenExpired,
    #[error("the access token was revoked")]
    TokenRevoked,
    #[error("the refresh token is not valid")]
    InvalidRefreshToken,
    #[error("the refresh token was used before; its session is ended")]
    RefreshTokenReused,
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("there is no such user")]
    UserNotFound,
    #[error("there is no such team")]
    TeamNotFound,
    #[error("there is no such member")]
    MemberNotFound,
    #[error("the slug is taken")]
    SlugTaken,
    #[error("this user is a member already")]
    AlreadyMember,
    #[error("a team keeps its owner; hand it over first")]
    LastOwner,
    #[error("too many requests")]
    RateLimited(u64),
    #[error("too many sign-ins are waiting")]
    Overloaded,
    #[error("the database cannot be asked")]
    Database(#[source] DbError),
    /// A stored value that this version cannot have written, or a failing cipher.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn internal(what: &str, cause: impl std::fmt::Display) -> Self {
        Self::Internal(format!("{what}: {cause}"))
    }

    /// Whether it says that the caller is not known, as opposed to that nobody could find out.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.status_and_code().0 == StatusCode::UNAUTHORIZED
    }

    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Validation(_) => (StatusCode::BAD_REQUEST, "validation_failed"),
            Self::UsernameTaken => (StatusCode::BAD_REQUEST, "username_taken"),
            Self::EmailTaken => (StatusCode::BAD_REQUEST, "email_taken"),
            Self::PasswordTooLong => (StatusCode::BAD_REQUEST, "password_too_long"),
            Self::InvalidCredentials => (StatusCode::UNAUTHORIZED, "invalid_credentials"),
            Self::AuthenticationRequired => (StatusCode::UNAUTHORIZED, "authentication_required"),
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "invalid_token"),
            Self::TokenExpired => (StatusCode::UNAUTHORIZED, "token_expired"),
            Self::TokenRevoked => (StatusCode::UNAUTHORIZED, "token_revoked"),
            Self::InvalidRefreshToken => (StatusCode::UNAUTHORIZED, "invalid_refresh_token"),
            Self::RefreshTokenReused => (StatusCode::UNAUTHORIZED, "refresh_token_reused"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::UserNotFound => (StatusCode::NOT_FOUND, "user_not_found"),
            Self::TeamNotFound => (StatusCode::NOT_FOUND, "team_not_found"),
            Self::MemberNotFound => (StatusCode::NOT_FOUND, "member_not_found"),
            Self::SlugTaken => (StatusCode::CONFLICT, "slug_taken"),
            Self::AlreadyMember => (StatusCode::CONFLICT, "already_member"),
            Self::LastOwner => (StatusCode::CONFLICT, "last_owner"),
            Self::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::Overloaded => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Self::Database(DbError::Busy | DbError::Unreachable(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
            }
            Self::Database(DbError::Query(_)) | Self::Internal(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal_error")
            }
        }
    }
}

impl From<DbError> for Error {
    fn from(error: DbError) -> Self {
        Self::Database(error)
    }
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, code) = error.status_and_code();
        match error {
            Error::RateLimited(seconds) => Self::rate_limited(*seconds),
            Error::Overloaded => {
                Self::unavailable("Too many sign-ins are waiting", BUSY_RETRY_SECONDS)
            }
            Error::Database(cause @ (DbError::Busy | DbError::Unreachable(_))) => {
                Self::unavailable("The service cannot answer now", BUSY_RETRY_SECONDS)
                    .caused_by(cause)
            }
            Error::Database(cause @ DbError::Query(_)) => Self::internal(cause),
            Error::Internal(cause) => Self::internal(cause),
            told => Self::new(status, code, sentence(&told.to_string())),
        }
    }
}

service_kit::respond_with_problem!(Error);

/// The body of an error in this area.
pub(crate) fn render(problem: &Problem) -> Value {
    json!({ "error": problem.code, "error_description": problem.message })
}

/// Errors are written in lower case, as Rust has it; people read sentences.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
