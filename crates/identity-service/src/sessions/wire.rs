use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A sign-in.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    /// Found without regard to case; an e-mail address is no username.
    pub(crate) username: String,
    #[schema(format = Password)]
    pub(crate) password: String,
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
