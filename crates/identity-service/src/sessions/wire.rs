use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::closed_sets::SessionKind;

/// Credentials of a sign-in.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    /// Case-insensitive. An e-mail address is not a username.
    pub(crate) username: String,
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Code from the authenticator app, or a recovery code. Required if the account has a second factor.
    pub(crate) totp_code: Option<String>,
}

/// What to end in addition to the current session.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct LogoutRequest {
    /// Refresh token of another session to end. Ignored unless it belongs to the caller.
    pub(crate) refresh_token: Option<String>,
}

/// Response of a logout.
#[derive(Serialize, ToSchema)]
pub(crate) struct LogoutResponse {
    #[schema(example = "Logged out")]
    pub(crate) message: &'static str,
}

/// A refresh token to rotate.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RefreshRequest {
    pub(crate) refresh_token: String,
}

/// What the validation response includes.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ValidateQuery {
    /// `teams` adds the account's teams. Comma-separated list; unknown values are ignored.
    pub(crate) include: Option<String>,
}

impl ValidateQuery {
    pub(crate) fn wants_teams(&self) -> bool {
        self.include
            .as_deref()
            .is_some_and(|list| list.split(',').any(|word| word.trim() == "teams"))
    }
}

/// Selects a page of the sessions.
#[derive(Debug, Default, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsQuery {
    /// 1 to 200; the default is 50.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<i64>,
    /// Number of sessions to skip.
    #[param(minimum = 0)]
    pub(crate) offset: Option<i64>,
}

/// A page of the caller's live sessions, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionsResponse {
    pub(crate) sessions: Vec<SessionEntry>,
    /// Number of all live sessions, not only those of this page.
    pub(crate) total: i64,
}

/// An application with access to the account.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionClient {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// Granted scopes, separated by spaces.
    pub(crate) scope: String,
}

/// A session of the caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionEntry {
    pub(crate) id: String,
    /// When the session was opened.
    pub(crate) created_at: DateTime<Utc>,
    /// When the session was last refreshed, or opened.
    pub(crate) last_used_at: DateTime<Utc>,
    /// When the session ends if it is not refreshed.
    pub(crate) expires_at: DateTime<Utc>,
    /// `first_party` is a sign-in to the product, `browser` one at its hosted pages. `sso` is a session given to the
    /// site `service`, `client` the access of an application.
    #[schema(value_type = SessionKind, example = "first_party")]
    pub(crate) kind: String,
    pub(crate) service: Option<String>,
    /// The application that holds the session.
    pub(crate) client: Option<SessionClient>,
    /// IP address of the last use.
    pub(crate) address: Option<String>,
    /// `User-Agent` of the last use.
    pub(crate) user_agent: Option<String>,
    /// Whether this is the session of the request's own token.
    pub(crate) current: bool,
}
