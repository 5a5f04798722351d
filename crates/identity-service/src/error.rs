//! The errors of the service, and their mapping to responses.

use std::borrow::Cow;

use actix_web::http::StatusCode;
use db_kit::DbError;
use diesel::result::DatabaseErrorKind;
use diesel::result::Error::DatabaseError;
use serde_json::{Value, json};
use service_kit::Problem;
use thiserror::Error;

/// The `Retry-After` of a response that a full queue or an unreachable database caused, in seconds.
const BUSY_RETRY_SECONDS: u64 = 2;

/// Every way in which an operation of the identity service fails.
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
    #[error("the password is too easy to guess")]
    WeakPassword,
    #[error("wrong username, password or code")]
    InvalidCredentials,
    #[error("the code of the second factor is required")]
    TotpRequired,
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
    #[error("the refresh token was used before; its session was ended")]
    RefreshTokenReused,
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("this access token does not allow the request")]
    InsufficientScope,
    #[error("there is no such user")]
    UserNotFound,
    #[error("the user has no profile photo")]
    PhotoNotFound,
    #[error("{0}")]
    PhotoTooLarge(String),
    #[error("the photo could not be fetched as an image")]
    PhotoUnreachable,
    #[error("the file is not a readable JPEG, PNG, GIF or WebP image")]
    UnsupportedImage,
    #[error("the e-mail address of this account can be changed only with the password")]
    EmailNotUpdatable,
    #[error("the sessions were ended; the redirect_uri is not allowed")]
    RedirectNotAllowed,
    #[error("the redirect_uri is not allowed")]
    HandOverNotAllowed,
    #[error("the link is no longer valid")]
    InvalidLink,
    #[error("there is no such invitation")]
    InvitationNotFound,
    #[error("the invitation was accepted, withdrawn or declined, or has expired")]
    InvitationGone,
    #[error("there is no such session")]
    SessionNotFound,
    #[error("there is no such OAuth client")]
    ClientNotFound,
    #[error("this application has no access")]
    ApplicationNotFound,
    #[error("there is no such team")]
    TeamNotFound,
    #[error("there is no such member")]
    MemberNotFound,
    #[error("the slug is taken")]
    SlugTaken,
    #[error("this user is already a member")]
    AlreadyMember,
    #[error("this user left the team and can return only by invitation; invite them")]
    MemberLeft,
    #[error("members can be added only by invitation; invite this user")]
    InvitationRequired,
    #[error("a team must have an owner; transfer the ownership first")]
    LastOwner,
    #[error("too many requests")]
    RateLimited(u64),
    #[error("too many sign-ins are waiting")]
    Overloaded,
    #[error("too many photos are waiting")]
    PhotosWaiting,
    #[error("the database is not available")]
    Database(#[source] DbError),
    /// A stored value that this version cannot have written, or a failing cipher.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn internal(what: &str, cause: impl std::fmt::Display) -> Self {
        Self::Internal(format!("{what}: {cause}"))
    }

    /// Whether the caller could not be authenticated, as opposed to an outage.
    pub(crate) fn is_unauthorized(&self) -> bool {
        self.status_and_code().0 == StatusCode::UNAUTHORIZED
    }

    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Validation(_) => (StatusCode::BAD_REQUEST, "validation_failed"),
            Self::UsernameTaken => (StatusCode::BAD_REQUEST, "username_taken"),
            Self::EmailTaken => (StatusCode::BAD_REQUEST, "email_taken"),
            Self::PasswordTooLong => (StatusCode::BAD_REQUEST, "password_too_long"),
            Self::WeakPassword => (StatusCode::BAD_REQUEST, "weak_password"),
            Self::TotpRequired => (StatusCode::UNAUTHORIZED, "totp_required"),
            Self::PhotoNotFound => (StatusCode::NOT_FOUND, "photo_not_found"),
            Self::PhotoTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "photo_too_large"),
            Self::PhotoUnreachable => (StatusCode::BAD_REQUEST, "photo_unreachable"),
            Self::UnsupportedImage => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_image"),
            Self::EmailNotUpdatable => (StatusCode::BAD_REQUEST, "email_not_updatable"),
            Self::RedirectNotAllowed | Self::HandOverNotAllowed => {
                (StatusCode::BAD_REQUEST, "redirect_not_allowed")
            }
            Self::InvalidLink => (StatusCode::BAD_REQUEST, "invalid_token"),
            Self::InvitationNotFound => (StatusCode::NOT_FOUND, "invitation_not_found"),
            Self::InvitationGone => (StatusCode::GONE, "invitation_gone"),
            Self::SessionNotFound | Self::ClientNotFound | Self::ApplicationNotFound => {
                (StatusCode::NOT_FOUND, "not_found")
            }
            Self::InvalidCredentials => (StatusCode::UNAUTHORIZED, "invalid_credentials"),
            Self::AuthenticationRequired => (StatusCode::UNAUTHORIZED, "authentication_required"),
            Self::InvalidToken => (StatusCode::UNAUTHORIZED, "invalid_token"),
            Self::TokenExpired => (StatusCode::UNAUTHORIZED, "token_expired"),
            Self::TokenRevoked => (StatusCode::UNAUTHORIZED, "token_revoked"),
            Self::InvalidRefreshToken => (StatusCode::UNAUTHORIZED, "invalid_refresh_token"),
            Self::RefreshTokenReused => (StatusCode::UNAUTHORIZED, "refresh_token_reused"),
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden"),
            Self::InsufficientScope => (StatusCode::FORBIDDEN, "insufficient_scope"),
            Self::UserNotFound => (StatusCode::NOT_FOUND, "user_not_found"),
            Self::TeamNotFound => (StatusCode::NOT_FOUND, "team_not_found"),
            Self::MemberNotFound => (StatusCode::NOT_FOUND, "member_not_found"),
            Self::SlugTaken => (StatusCode::CONFLICT, "slug_taken"),
            Self::AlreadyMember => (StatusCode::CONFLICT, "already_member"),
            Self::MemberLeft => (StatusCode::CONFLICT, "member_left"),
            Self::InvitationRequired => (StatusCode::FORBIDDEN, "invitation_required"),
            Self::LastOwner => (StatusCode::CONFLICT, "last_owner"),
            Self::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::Overloaded | Self::PhotosWaiting => {
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable")
            }
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
        match error {
            // The row that a foreign key misses is an account or a team that was deleted a moment ago. Unless the
            // handler maps it itself, it is the caller's own account.
            DbError::Query(DatabaseError(DatabaseErrorKind::ForeignKeyViolation, _)) => {
                Self::TokenRevoked
            }
            error => Self::Database(error),
        }
    }
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        DbError::from(error).into()
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, code) = error.status_and_code();
        match error {
            Error::RateLimited(seconds) => Self::rate_limited(*seconds),
            Error::PhotosWaiting => {
                Self::unavailable("Too many photos are waiting", BUSY_RETRY_SECONDS)
            }
            Error::Overloaded => {
                Self::unavailable("Too many sign-ins are waiting", BUSY_RETRY_SECONDS)
            }
            Error::Database(cause @ (DbError::Busy | DbError::Unreachable(_))) => {
                Self::unavailable("The service cannot answer now", BUSY_RETRY_SECONDS)
                    .caused_by(cause)
            }
            Error::Database(cause @ DbError::Query(_)) => Self::internal(cause),
            Error::Internal(cause) => Self::internal(cause),
            error => Self::new(status, code, sentence(&error.to_string())),
        }
    }
}

service_kit::respond_with_problem!(Error);

/// Returns the JSON body of an error.
pub(crate) fn render(problem: &Problem) -> Value {
    json!({ "error": problem.code, "error_description": problem.message })
}

/// Writes the first letter in upper case. By Rust's convention error messages begin in lower case, but people read sentences.
/// The name of a field, such as `logo_uri`, stays as it is.
pub(crate) fn sentence(text: &str) -> String {
    let first = text.split([' ', ',']).next().unwrap_or_default();
    if first.contains('_') {
        return text.to_owned();
    }
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
