use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A sign-in.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    /// Found without regard to case; an e-mail address is no username.
    pub(crate) username: String,
    #[schema(format = Password)]
    pub(crate) password: String,
    /// Of the second factor, if the account has one: from the authenticator app, or a recovery code.
    pub(crate) totp_code: Option<String>,
}

/// What else to end with the current session.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct LogoutRequest {
    /// Ends this token's session too, if it is the caller's; otherwise ignored.
    pub(crate) refresh_token: Option<String>,
}

/// The answer of logout.
#[derive(Serialize, ToSchema)]
pub(crate) struct LogoutResponse {
    #[schema(example = "Logged out")]
    pub(crate) message: &'static str,
}

/// A refresh token to be rotated.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RefreshRequest {
    pub(crate) refresh_token: String,
}

/// What validate is to add.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ValidateQuery {
    /// `teams` adds the account's teams; a comma list, unknown words are ignored.
    pub(crate) include: Option<String>,
}

impl ValidateQuery {
    pub(crate) fn wants_teams(&self) -> bool {
        self.include
            .as_deref()
            .is_some_and(|list| list.split(',').any(|word| word.trim() == "teams"))
    }
}

/// Which part of the list of sessions is wanted.
#[derive(Debug, Default, Clone, Copy, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsQuery {
    /// 1 to 200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<i64>,
    /// How many to leave out before the page.
    #[param(minimum = 0)]
    pub(crate) offset: Option<i64>,
}

/// A page of the caller's sessions that are not over, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionsResponse {
    pub(crate) sessions: Vec<SessionEntry>,
    /// Of all of them, not of the page.
    pub(crate) total: i64,
}

/// An application with access to the account.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionClient {
    pub(crate) client_id: String,
    pub(crate) name: String,
    /// What it may do, with spaces between.
    pub(crate) scope: String,
}

/// One sign-in.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionEntry {
    pub(crate) id: String,
    /// When it was signed in.
    pub(crate) created_at: DateTime<Utc>,
    /// The last refresh, or the sign-in.
    pub(crate) last_used_at: DateTime<Utc>,
    /// When it is over unless it is refreshed before.
    pub(crate) expires_at: DateTime<Utc>,
    /// `first_party` for a sign-in at the product, `browser` at its pages, `sso` for one that was handed to
    /// the site `service`, `client` for an application's access.
    #[schema(example = "first_party")]
    pub(crate) kind: String,
    pub(crate) service: Option<String>,
    /// The application whose access it is.
    pub(crate) client: Option<SessionClient>,
    /// From where it was used last.
    pub(crate) address: Option<String>,
    /// By what it was used last.
    pub(crate) user_agent: Option<String>,
    /// Whether this request came with its token.
    pub(crate) current: bool,
}
