use std::borrow::Cow;

use actix_web::http::StatusCode;
use broker::Verdict;
use db_kit::DbError;
use serde::Serialize;
use service_kit::{Problem, respond_with_problem};
use thiserror::Error;
use utoipa::ToSchema;

/// Everything that can go wrong in the work-session area. The text of each variant is what the caller
/// reads, verbatim; what must stay inside (database, sealing, encoding) is logged and answered as 500 or 503.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The request does not fit; the sentence says how.
    #[error("{0}")]
    Invalid(Cow<'static, str>),

    /// No token or a bad one.
    #[error("Authentication required")]
    AuthenticationRequired,
    /// No token, where the contract tells it apart from a bad one.
    #[error("Token required")]
    TokenRequired,
    /// A bad token, where the contract tells it apart from none.
    #[error("Invalid or expired token")]
    InvalidToken,
    /// The token's client was not given what this endpoint asks.
    #[error("Insufficient scope")]
    InsufficientScope,
    /// The identity service did not answer in time: nothing is guessed.
    #[error("Authentication service unavailable")]
    AuthenticationUnavailable,
    /// The identity service is there and takes no more sign-ins now.
    #[error("Authentication service unavailable")]
    SignInsUnavailable {
        /// Seconds.
        retry_after: u64,
    },
    /// No account has this name and password, or the code of the second factor is wrong.
    #[error("Invalid credentials")]
    InvalidCredentials,
    /// Everything is right but the code of the second factor, which is missing.
    #[error("TOTP code required")]
    TotpRequired,

    /// Not a member of the project's team.
    #[error("Not authorized to access this team project")]
    TeamProjectForbidden,
    /// Neither owner nor admin of the project's team.
    #[error("Not authorized to change this team project")]
    TeamProjectChangeForbidden,
    /// Not a member of the team whose board is asked for, or no such team.
    #[error("Not authorized to access this team's leaderboard")]
    LeaderboardForbidden,
    /// Not a member of the team whose activity is asked for, or no such team.
    #[error("Not authorized to access this team's activity")]
    TeamActivityForbidden,
    /// No such team project.
    #[error("Team project not found")]
    TeamProjectNotFound,
    /// No such personal project of this user, or a reference that is none.
    #[error("Project not found")]
    ProjectNotFound,
    /// One more would make the list of them longer than lists may be.
    #[error("There are too many projects already")]
    TooManyProjects,
    /// Archived projects can be read, not started on.
    #[error("Project is archived")]
    ProjectArchived,

    /// A chat test without a chat, or with one that is switched off.
    #[error("No chat is configured")]
    NoChat,

    /// Unknown, malformed, or not the caller's to know of.
    #[error("Webhook not found")]
    WebhookNotFound,
    /// A member of the team who is neither its owner nor an admin.
    #[error("Not authorized to manage this team's webhooks")]
    WebhookForbidden,
    /// A webhook for a team that the caller is no member of.
    #[error("Team not found")]
    TeamNotFound,
    /// All places of the owner are taken.
    #[error("There are 20 webhooks already")]
    TooManyWebhooks,
    /// No call is made to it before it is changed.
    #[error("Webhook is switched off")]
    WebhookOff,
    /// No such call of this webhook, or one that was forgotten.
    #[error("Delivery not found")]
    DeliveryNotFound,
    /// It is tried again anyway.
    #[error("Delivery is still under way")]
    DeliveryUnderWay,

    /// The time zone changed less than a day ago.
    #[error("The time zone can be changed once a day")]
    TimezoneChangedRecently {
        /// Seconds until it may change again.
        retry_after: u64,
    },

    /// Unknown, malformed or another user's session.
    #[error("Session not found")]
    SessionNotFound,
    /// A submit without `session_id` while none is open.
    #[error("No open session matches")]
    NoOpenSession,
    /// A change of what only exists once the session was submitted.
    #[error("Session is not submitted yet")]
    SessionNotSubmitted,
    /// Locked fields in the body that are not the plan's; the names in the order of the contract.
    #[error("Locked fields differ from the plan: {}", .0.join(", "))]
    LockedFieldsDiffer(Vec<&'static str>),
    /// A second submit with other values.
    #[error("Session already submitted")]
    AlreadySubmitted,
    /// The same `Idempotency-Key` with another body.
    #[error("Idempotency-Key was used with another request")]
    IdempotencyKeyReused,
    /// Too many starts.
    #[error("Too many requests")]
    RateLimited {
        /// Seconds.
        retry_after: u64,
    },

    /// An extractor's refusal.
    #[error("{}", .0.message)]
    Request(#[from] Problem),

    /// The database did not do it.
    #[error("database: {0}")]
    Db(#[from] DbError),
    /// Something that cannot happen did; the text is for the log.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    /// Whether the same work would fail again, whatever the database's and its server's state.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Db(cause) => cause.is_lasting(),
            _ => true,
        }
    }

    pub(crate) fn invalid(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(sentence.into())
    }

    /// A cause for the log, told to nobody.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}

impl From<diesel::result::Error> for Error {
    fn from(cause: diesel::result::Error) -> Self {
        Self::Db(cause.into())
    }
}

/// How long a caller waits before he asks again when a part of ours was away, in seconds.
pub(crate) const TRY_AGAIN: u64 = 2;

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, code) = match error {
            Error::Request(problem) => return problem.clone(),
            Error::Db(DbError::Query(cause)) => return Self::internal(cause),
            Error::Internal(cause) => return Self::internal(cause),
            Error::Db(cause) => {
                return Self::unavailable("Database unavailable", TRY_AGAIN).caused_by(cause);
            }
            Error::AuthenticationUnavailable => {
                return Self::unavailable(error.to_string(), TRY_AGAIN);
            }
            Error::SignInsUnavailable { retry_after } => {
                return Self::unavailable(error.to_string(), *retry_after);
            }
            Error::RateLimited { retry_after } => return Self::rate_limited(*retry_after),
            Error::Invalid(_) => (StatusCode::BAD_REQUEST, "validation_failed"),
            Error::AuthenticationRequired => (StatusCode::UNAUTHORIZED, "authentication_required"),
            Error::InvalidToken => (StatusCode::UNAUTHORIZED, "invalid_token"),
            Error::InvalidCredentials => (StatusCode::UNAUTHORIZED, "invalid_credentials"),
            Error::TotpRequired => (StatusCode::UNAUTHORIZED, "totp_required"),
            Error::InsufficientScope => (StatusCode::FORBIDDEN, "insufficient_scope"),
            Error::TokenRequired
            | Error::TeamProjectForbidden
            | Error::LeaderboardForbidden
            | Error::TeamActivityForbidden
            | Error::TeamProjectChangeForbidden
            | Error::WebhookForbidden => (StatusCode::FORBIDDEN, "forbidden"),
            Error::TeamProjectNotFound
            | Error::ProjectNotFound
            | Error::SessionNotFound
            | Error::WebhookNotFound
            | Error::TeamNotFound
            | Error::DeliveryNotFound => (StatusCode::NOT_FOUND, "not_found"),
            Error::ProjectArchived
            | Error::TooManyProjects
            | Error::TimezoneChangedRecently { .. }
            | Error::NoOpenSession
            | Error::SessionNotSubmitted
            | Error::AlreadySubmitted
            | Error::NoChat
            | Error::TooManyWebhooks
            | Error::WebhookOff
            | Error::DeliveryUnderWay => (StatusCode::CONFLICT, "conflict"),
            Error::LockedFieldsDiffer(_) | Error::IdempotencyKeyReused => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable")
            }
        };
        let mut problem = Self::new(status, code, error.to_string());
        if let Error::TimezoneChangedRecently { retry_after } = error {
            problem = problem.with_retry_after(*retry_after);
        }
        problem
    }
}

respond_with_problem!(Error);

/// What becomes of a message that was taken in or not; a failure that will pass is given to `log` first.
pub(crate) fn verdict(outcome: Result<(), Error>, log: impl FnOnce(&Error)) -> Verdict {
    match outcome {
        Ok(()) => Verdict::Ack,
        Err(cause) if cause.is_lasting() => Verdict::Park(cause.to_string()),
        Err(cause) => {
            log(&cause);
            Verdict::Retry
        }
    }
}

/// The error body of the work-session area.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// A sentence.
    error: String,
}
