use auth_types::wire::{Premium, User};
use auth_types::{AccountRole, PremiumTier, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::present::present;

/// Which accounts; everything given must fit.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// A part of the username or of the e-mail address, in any case.
    pub(crate) q: Option<String>,
    /// USER or SUPERADMIN.
    #[param(inline)]
    pub(crate) role: Option<AccountRole>,
    /// The plan that counts now: FREE or PREMIUM.
    #[param(inline)]
    pub(crate) premium_tier: Option<PremiumTier>,
    pub(crate) is_active: Option<bool>,
    /// The `next_cursor` of the page before.
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
    /// Whether signing in takes a code of a second factor.
    pub(crate) totp_enabled: bool,
    /// Sign-ins that stand.
    pub(crate) sessions: i64,
    /// The latest sign-in that is still on record.
    pub(crate) last_sign_in_at: Option<DateTime<Utc>>,
}

/// One account.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdminUserResponse {
    pub(crate) user: AdminUser,
}

/// A page of accounts, by id.
#[derive(Serialize, ToSchema)]
pub(crate) struct AdminUserList {
    pub(crate) users: Vec<AdminUser>,
    /// For the next page; null on the last one.
    #[schema(value_type = Option<i64>)]
    pub(crate) next_cursor: Option<UserId>,
}

/// A new account. As at registration, and with a role.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateUserRequest {
    /// 3 to 64 of `A-Z a-z 0-9 _ -`; unique without regard to case.
    #[schema(min_length = 3, max_length = 64, pattern = "^[a-zA-Z0-9_-]+$")]
    pub(crate) username: String,
    /// Is sent a mail that asks to prove it.
    #[schema(format = Email)]
    pub(crate) email: Option<String>,
    /// One is made, and told in the answer, when none is given.
    #[schema(min_length = 8, format = Password)]
    pub(crate) password: Option<String>,
    /// USER when not given.
    pub(crate) role: Option<AccountRole>,
}

/// What is to be another; what is not given stays.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct UpdateUserRequest {
    /// False ends every session of the account at once.
    pub(crate) is_active: Option<bool>,
    pub(crate) role: Option<AccountRole>,
    /// PREMIUM without an end leaves a plan that has not run out as it is.
    pub(crate) premium_tier: Option<PremiumTier>,
    /// In the future; null for a plan without end.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    pub(crate) premium_expires_at: Option<Option<DateTime<Utc>>>,
}

/// A new password; one is made, and told in the answer, when none is given.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct ResetPasswordRequest {
    #[schema(min_length = 8, format = Password)]
    pub(crate) password: Option<String>,
}

/// An account that was made, or that has a new password.
#[derive(Serialize, ToSchema)]
pub(crate) struct PasswordResponse {
    pub(crate) user: AdminUser,
    /// The password that was made; null when one was given. It cannot be told again.
    pub(crate) password: Option<String>,
    /// Sessions that ended with it.
    pub(crate) sessions_ended: usize,
}

/// How many sessions were ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct RevokedResponse {
    pub(crate) sessions_ended: usize,
}
