use auth_types::wire::{Premium, User};
use auth_types::{AccountRole, PremiumTier, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::double_option::double_option;

/// Filters for accounts; an account must match all of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A part of the username or e-mail address, ignoring case.
    pub(crate) q: Option<String>,
    /// USER or SUPERADMIN.
    #[param(inline)]
    pub(crate) role: Option<AccountRole>,
    /// The current plan: FREE or PREMIUM.
    #[param(inline)]
    pub(crate) premium_tier: Option<PremiumTier>,
    pub(crate) is_active: Option<bool>,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<i64>)]
    pub(crate) cursor: Option<UserId>,
    /// 1 to 200.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u16>,
}

/// An account as an administrator sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdminUser {
    #[serde(flatten)]
    pub(crate) user: User,
    pub(crate) premium: Premium,
    /// Whether signing in requires a code of a second factor.
    pub(crate) totp_enabled: bool,
    /// The number of valid sessions.
    pub(crate) sessions: i64,
    /// The time of the latest sign-in that is still stored.
    pub(crate) last_sign_in_at: Option<DateTime<Utc>>,
}

/// One account.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdminUserResponse {
    pub(crate) user: AdminUser,
}

/// A page of accounts, in order of id.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdminUserList {
    pub(crate) users: Vec<AdminUser>,
    /// The cursor of the next page; null on the last one.
    #[schema(value_type = Option<i64>)]
    pub(crate) next_cursor: Option<UserId>,
}

/// A new account, as at registration but with a role.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateUserRequest {
    /// 3 to 64 of `A-Z a-z 0-9 _ -`; unique, ignoring case.
    #[schema(min_length = 3, max_length = 64, pattern = "^[a-zA-Z0-9_-]+$")]
    pub(crate) username: String,
    /// A verification link is mailed to this address.
    #[schema(format = Email)]
    pub(crate) email: Option<String>,
    /// If absent, a password is generated and returned in the response.
    #[schema(min_length = 8, format = Password)]
    pub(crate) password: Option<String>,
    /// USER if absent.
    pub(crate) role: Option<AccountRole>,
}

/// Changes to an account; absent fields stay as they are.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct UpdateUserRequest {
    /// False ends every session of the account at once.
    pub(crate) is_active: Option<bool>,
    pub(crate) role: Option<AccountRole>,
    /// PREMIUM without `premium_expires_at` leaves the end of a current PREMIUM plan as it is.
    pub(crate) premium_tier: Option<PremiumTier>,
    /// Must be in the future; null for a plan without an end.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub(crate) premium_expires_at: Option<Option<DateTime<Utc>>>,
}

/// A new password; if absent, one is generated and returned in the response.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct ResetPasswordRequest {
    #[schema(min_length = 8, format = Password)]
    pub(crate) password: Option<String>,
}

/// An account that was created or has a new password.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordResponse {
    pub(crate) user: AdminUser,
    /// The generated password, or null if one was given. It is not shown again.
    pub(crate) password: Option<String>,
    /// The number of sessions that ended.
    pub(crate) sessions_ended: usize,
}

/// The number of sessions that ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct RevokedResponse {
    pub(crate) sessions_ended: usize,
}
