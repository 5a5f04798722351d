use auth_types::wire::User;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new account. Unlisted fields such as `role` and `premium_tier` are ignored.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RegisterRequest {
    /// 3 to 64 of `A-Z a-z 0-9 _ -`; unique, ignoring case.
    #[schema(min_length = 3, max_length = 64, pattern = "^[a-zA-Z0-9_-]+$")]
    pub(crate) username: String,
    /// Unique, ignoring case. Without one, the account has a placeholder address.
    #[schema(format = Email)]
    pub(crate) email: Option<String>,
    /// At least 8 characters and at most 72 bytes of UTF-8, after NFKC normalisation.
    #[schema(min_length = 8, format = Password)]
    pub(crate) password: String,
}

/// An account.
#[derive(Serialize, ToSchema)]
pub(crate) struct UserResponse {
    pub(crate) user: User,
}

/// The service's status and number of accounts.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatusResponse {
    /// Always `ok`; a service that does not work responds with an error.
    #[schema(example = "ok")]
    pub(crate) status: &'static str,
    /// Active accounts; up to 5 seconds old.
    pub(crate) total_users: i64,
}
