use auth_types::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::model::AccountRow;

/// What a client may know of an account, in the words of OpenID Connect Core section 5.1. Claims whose
/// scope was not given are absent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProfileClaims {
    /// The username; with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    /// Where the account's public profile is; with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// Where the account's photo is, if it has one; with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// When the profile was changed last, in seconds since the epoch; with `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// With `email`; absent while the account has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Whether the account's owner has proved that it is theirs; absent without `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
}

impl ProfileClaims {
    /// The names of all claims here, for the metadata.
    pub(crate) const NAMES: [&str; 6] = [
        "preferred_username",
        "profile",
        "picture",
        "updated_at",
        "email",
        "email_verified",
    ];

    /// The claims of an account; `has` tells which scopes were given.
    pub(crate) fn of(account: &AccountRow, base_url: &str, has: impl Fn(Scope) -> bool) -> Self {
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
