use std::fmt::Display;

use actix_web::http::StatusCode;
use messages::t;
use serde::Deserialize;
use service_kit::Problem;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum ApiError {
    /// The token is no longer valid: the user has to sign in again.
    SignedOut,
    /// The service rejected the request, and said why.
    Rejected(ApiRejection),
    /// There was no response, or one that cannot be parsed. The text is for the log.
    Unavailable(String),
}

/// The rejection of a request by a service.
#[derive(Debug, Clone)]
pub(crate) struct ApiRejection {
    pub(crate) status: StatusCode,
    /// A sentence for people.
    pub(crate) message: String,
    /// In seconds.
    pub(crate) retry_after: Option<u64>,
}

/// The error body of either area: a sentence, or a code and a sentence.
#[derive(Deserialize, Default)]
struct Body {
    #[serde(default)]
    error: String,
    error_description: Option<String>,
}

impl ApiRejection {
    pub(super) fn read(status: StatusCode, retry_after: Option<u64>, body: &[u8]) -> Self {
        let body: Body = serde_json::from_slice(body).unwrap_or_default();
        let message = body.error_description.unwrap_or(body.error);
        Self {
            status,
            message: match message.is_empty() {
                true => status.canonical_reason().unwrap_or("Refused").to_owned(),
                false => message,
            },
            retry_after,
        }
    }

    /// Whether the user who sent the form can correct it, now or later. The form is then shown again.
    pub(crate) fn is_correctable(&self) -> bool {
        matches!(
            self.status,
            StatusCode::BAD_REQUEST
                | StatusCode::FORBIDDEN
                | StatusCode::NOT_FOUND
                | StatusCode::CONFLICT
                | StatusCode::UNPROCESSABLE_ENTITY
                | StatusCode::TOO_MANY_REQUESTS
        )
    }
}

impl ApiError {
    pub(super) fn unavailable(cause: impl Display) -> Self {
        Self::Unavailable(cause.to_string())
    }

    /// Returns the rejection, if the user can correct the form.
    ///
    /// # Errors
    /// Any other error.
    pub(crate) fn into_correctable(self) -> Result<ApiRejection, Self> {
        match self {
            Self::Rejected(refused) if refused.is_correctable() => Ok(refused),
            other => Err(other),
        }
    }
}

impl From<ApiRejection> for ApiError {
    fn from(refused: ApiRejection) -> Self {
        match refused.status {
            StatusCode::UNAUTHORIZED => Self::SignedOut,
            status if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE => {
                Self::Unavailable(format!("answered {status}: {}", refused.message))
            }
            _ => Self::Rejected(refused),
        }
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::SignedOut => Self::new(
                StatusCode::UNAUTHORIZED,
                "authentication_required",
                t("dashboard-signed-out").to_string(),
            ),
            ApiError::Rejected(refused) => {
                let problem = Self::new(refused.status, "refused", refused.message);
                match refused.retry_after {
                    Some(seconds) => problem.with_retry_after(seconds),
                    None => problem,
                }
            }
            ApiError::Unavailable(cause) => {
                Self::unavailable(t("dashboard-unavailable").to_string(), 2).caused_by(cause)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_areas_errors_are_read() {
        let read =
            |body: &str| ApiRejection::read(StatusCode::CONFLICT, None, body.as_bytes()).message;
        assert_eq!(
            read(r#"{"error": "Project is archived"}"#),
            "Project is archived"
        );
        assert_eq!(
            read(r#"{"error": "slug_taken", "error_description": "There is one"}"#),
            "There is one"
        );
        assert_eq!(read("<html>"), "Conflict");
    }

    #[test]
    fn a_refused_token_is_no_broken_service() {
        let of = |status| ApiError::from(ApiRejection::read(status, None, b""));
        assert!(matches!(of(StatusCode::UNAUTHORIZED), ApiError::SignedOut));
        assert!(matches!(
            of(StatusCode::BAD_GATEWAY),
            ApiError::Unavailable(_)
        ));
        let busy = of(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(Problem::from(busy).status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(
            of(StatusCode::UNPROCESSABLE_ENTITY)
                .into_correctable()
                .is_ok()
        );
        let busy = of(StatusCode::SERVICE_UNAVAILABLE);
        assert!(busy.into_correctable().is_err());
    }
}
