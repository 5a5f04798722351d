use std::borrow::Cow;

use actix_web::http::StatusCode;
use broker::Acknowledgement;
use db_kit::DbError;
use serde::Serialize;
use service_kit::{Problem, respond_with_problem};
use thiserror::Error;
use utoipa::ToSchema;

/// The errors of the work-session service. A client error is sent verbatim. The cause of any other error (database,
/// sealing, encoding) is only logged, and the response is 500 or 503.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The request is invalid. The sentence says why.
    #[error("{0}")]
    Invalid(Cow<'static, str>),

    /// The token is missing or invalid.
    #[error("Authentication required")]
    AuthenticationRequired,
    /// The token is missing, on an endpoint whose contract distinguishes that from an invalid token.
    #[error("Token required")]
    TokenRequired,
    /// The token is invalid, on an endpoint whose contract distinguishes that from a missing token.
    #[error("Invalid or expired token")]
    InvalidToken,
    /// The token lacks a scope that the endpoint requires.
    #[error("Insufficient scope")]
    InsufficientScope,
    /// The identity service did not answer in time, so the caller is unknown.
    #[error("Authentication service unavailable")]
    AuthenticationUnavailable,
    /// The identity service works, but accepts no more sign-ins at present.
    #[error("Authentication service unavailable")]
    SignInsUnavailable {
        /// Seconds until the client can retry.
        retry_after: u64,
    },
    /// No account has this username and password, or the TOTP code is wrong.
    #[error("Invalid credentials")]
    InvalidCredentials,
    /// The credentials are correct, but the TOTP code is missing.
    #[error("TOTP code required")]
    TotpRequired,

    /// The caller is not a member of the project's team.
    #[error("Not authorized to access this team project")]
    TeamProjectForbidden,
    /// The caller does not manage the project's team, or is a client that did not configure its chat.
    #[error("Not authorized to change this team project")]
    TeamProjectChangeForbidden,
    /// The caller is not a member of the team whose leaderboard is requested, or the team does not exist.
    #[error("Not authorized to access this team's leaderboard")]
    LeaderboardForbidden,
    /// The caller is not a member of the team whose activity is requested, or the team does not exist.
    #[error("Not authorized to access this team's activity")]
    TeamActivityForbidden,
    #[error("Team project not found")]
    TeamProjectNotFound,
    /// The user has no such personal project, or the reference is malformed.
    #[error("Project not found")]
    ProjectNotFound,
    /// The user or team already has as many projects as a list can hold.
    #[error("There are too many projects already")]
    TooManyProjects,
    /// The project is archived: it can be read, but no session can start on it.
    #[error("Project is archived")]
    ProjectArchived,

    /// The project has no active chat to test.
    #[error("No chat is configured")]
    NoChat,

    /// The webhook does not exist, its id is malformed, or the caller may not see it.
    #[error("Webhook not found")]
    WebhookNotFound,
    /// The caller is a member of the team, but neither its owner nor an admin.
    #[error("Not authorized to manage this team's webhooks")]
    WebhookForbidden,
    /// The caller is not a member of the team that the webhook is for.
    #[error("Team not found")]
    TeamNotFound,
    /// The owner already has the maximum number of webhooks.
    #[error("There are 20 webhooks already")]
    TooManyWebhooks,
    /// The webhook is paused or disabled, so it receives no calls.
    #[error("Webhook is not active")]
    WebhookDisabled,
    /// The webhook has no such delivery, or the delivery is deleted.
    #[error("Delivery not found")]
    DeliveryNotFound,
    /// The delivery is not settled yet, so it needs no replay.
    #[error("Delivery is still under way")]
    DeliveryUnderWay,

    /// The time zone changed less than a day ago.
    #[error("The time zone can be changed once a day")]
    TimezoneChangedRecently {
        /// Seconds until the time zone can change again.
        retry_after: u64,
    },

    /// The session does not exist, its id is malformed, or it belongs to another user.
    #[error("Session not found")]
    SessionNotFound,
    /// A submit has no `session_id`, and no session is open.
    #[error("No open session matches")]
    NoOpenSession,
    /// The change requires a submitted session.
    #[error("Session is not submitted yet")]
    SessionNotSubmitted,
    /// Locked fields in the body differ from the plan. The names are in the order of the contract.
    #[error("Locked fields differ from the plan: {}", .0.join(", "))]
    LockedFieldsDiffer(Vec<&'static str>),
    /// The session is already submitted with other values.
    #[error("Session already submitted")]
    AlreadySubmitted,
    /// The `Idempotency-Key` already belongs to another body.
    #[error("Idempotency-Key was used with another request")]
    IdempotencyKeyReused,
    #[error("Too many requests")]
    RateLimited {
        /// Seconds until the client can retry.
        retry_after: u64,
    },

    /// An extractor refuses the request.
    #[error("{}", .0.message)]
    Request(#[from] Problem),

    #[error("database: {0}")]
    Db(#[from] DbError),
    /// An unexpected error occurred. The text is only logged.
    #[error("internal: {0}")]
    Internal(String),
}

impl Error {
    /// Whether a retry fails again even if the database and its server work.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Db(cause) => cause.is_lasting(),
            _ => true,
        }
    }

    pub(crate) fn invalid(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid(sentence.into())
    }

    /// Returns an error whose cause is only logged.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}

impl From<diesel::result::Error> for Error {
    fn from(cause: diesel::result::Error) -> Self {
        Self::Db(cause.into())
    }
}

/// Seconds after which a client can retry when the database or the identity service is unavailable.
pub(crate) const RETRY_AFTER: u64 = 2;

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let (status, code) = match error {
            Error::Request(problem) => return problem.clone(),
            Error::Db(DbError::Query(cause)) => return Self::internal(cause),
            Error::Internal(cause) => return Self::internal(cause),
            Error::Db(cause) => {
                return Self::unavailable("Database unavailable", RETRY_AFTER).caused_by(cause);
            }
            Error::AuthenticationUnavailable => {
                return Self::unavailable(error.to_string(), RETRY_AFTER);
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
            | Error::WebhookDisabled
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

/// Returns the acknowledgement of a message from the outcome of its handling. A transient failure goes to `log` first.
pub(crate) fn acknowledge(outcome: Result<(), Error>, log: impl FnOnce(&Error)) -> Acknowledgement {
    match outcome {
        Ok(()) => Acknowledgement::Ack,
        Err(cause) if cause.is_lasting() => Acknowledgement::DeadLetter(cause.to_string()),
        Err(cause) => {
            log(&cause);
            Acknowledgement::Retry
        }
    }
}

/// The error body of the work-session service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// A sentence that describes the error.
    error: String,
}
