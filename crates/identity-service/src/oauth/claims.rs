use auth_types::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::model::AccountRow;

/// The standard claims about an account (OpenID Connect Core section 5.1). A claim is absent if its scope was not granted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProfileClaims {
    /// The username; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    /// The address of the account's public profile; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// The address of the account's photo, if it has one; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// When the profile was last changed, in seconds since the epoch; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// The e-mail address, if the account has one; requires the scope `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Whether the account's owner has verified the e-mail address; absent without `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
}

impl ProfileClaims {
    /// The names of these claims, for the server metadata.
    pub(crate) const NAMES: [&str; 6] = [
        "preferred_username",
        "profile",
        "picture",
        "updated_at",
        "email",
        "email_verified",
    ];

    /// Builds the claims of an account. `has` says whether a scope was granted.
    pub(crate) fn from_account(
        account: &AccountRow,
        base_url: &str,
        has: impl Fn(Scope) -> bool,
    ) -> Self {
        let profile = has(Scope::Profile);
        let email = account.own_email().filter(|_| has(Scope::Email));
        Self {
            preferred_username: profile.then(|| account.username.clone()),
            profile: profile.then(|| format!("{base_url}/api/auth/user/{}", account.id)),
            picture: account.photo_url(base_url).filter(|_| profile),
            updated_at: profile.then(|| account.updated_at.and_utc().timestamp()),
            email: email.map(str::to_owned),
            email_verified: email.map(|_| account.email_verified),
        }
    }
}
