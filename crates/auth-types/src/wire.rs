//! Bodies of the identity area that more than one part of the product reads or writes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AccountRole, PremiumTier, TeamId, TeamRole, UserId};

/// An account as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// The account.
    pub id: UserId,
    /// As typed at registration.
    pub username: String,
    /// Null for everybody but the account itself and a SUPERADMIN. An OAuth client needs the scope `email`, and is told
    /// a placeholder in validate only.
    pub email: Option<String>,
    /// Whether the address was proven.
    pub email_verified: bool,
    /// Up to 2,000 characters.
    pub bio: Option<String>,
    /// An http or https address.
    pub website_url: Option<String>,
    /// Absolute address that can be rendered directly; null without a photo.
    pub profile_photo_url: Option<String>,
    /// Whether there is a photo.
    pub has_profile_photo: bool,
    /// When the account was made.
    pub created_at: DateTime<Utc>,
    /// When the profile last changed.
    pub updated_at: DateTime<Utc>,
    /// False for a deactivated account.
    pub is_active: bool,
    /// USER or SUPERADMIN.
    pub role: AccountRole,
    /// FREE or PREMIUM.
    pub premium_tier: PremiumTier,
}

/// Whether an address is one that accounts hold which gave none (`USERNAME@placeholder.invalid`). It is told to the
/// account itself and in validate, and is no way to reach anybody.
#[must_use]
pub fn is_placeholder(email: &str) -> bool {
    email.ends_with("@placeholder.invalid")
}

/// What a sign-in or a refresh gives.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenPair {
    /// A JWT, sent as `Authorization: Bearer …`.
    pub access_token: String,
    /// Opaque; good for one refresh.
    pub refresh_token: String,
    /// Life of the access token in seconds.
    pub expires_in: i64,
    /// The account that signed in.
    pub user: User,
}

impl std::fmt::Debug for TokenPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenPair")
            .field("expires_in", &self.expires_in)
            .field("user", &self.user.id)
            .finish_non_exhaustive()
    }
}

/// The plan of an account, as validate tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Premium {
    /// FREE or PREMIUM.
    pub tier: PremiumTier,
    /// The tier's name for people.
    pub tier_name: String,
    /// False for FREE.
    pub is_active: bool,
    /// When a paid plan ends; an OAuth client needs the scope `profile`.
    pub expires_at: Option<DateTime<Utc>>,
    /// Megabytes.
    pub bandwidth_limit_mb: i64,
}

/// A team that the account belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamMembership {
    /// The team.
    pub id: TeamId,
    /// Its name in paths.
    pub slug: String,
    /// Its name for people.
    pub name: String,
    /// What the account may do in it.
    pub role: TeamRole,
}

/// The answer of validate: the account flat at the top level (legacy form) and once more nested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ValidateResponse {
    /// Always true here; errors carry false.
    pub valid: bool,
    /// The account, flat.
    #[serde(flatten)]
    pub flat: User,
    /// The account, nested.
    pub user: User,
    /// The account's plan.
    pub premium: Premium,
    /// `access`.
    pub token_type: String,
    /// The token's `exp`, seconds since the epoch.
    pub expires_at: i64,
    /// Space-separated scopes of an OAuth client's token; absent for all others, which scopes do not limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `sso` for a token that single sign-on handed over to another site, `first_party` for that of a client of
    /// the product's own; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The origin of the site that the token was handed over to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sso_origin: Option<String>,
    /// The token's sign-in, its `sid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The OAuth client that the token was issued to, also one of the product's own; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The account's teams; present with `?include=teams`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teams: Option<Vec<TeamMembership>>,
}

/// What another part of the product asks before it erases something: whether this account exists, this team, or, with
/// both, this account in this team; with a sign-in, whether that is still good. Deactivated accounts exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistenceQuestion {
    /// The account.
    pub user_id: Option<UserId>,
    /// The team.
    pub team_id: Option<TeamId>,
    /// The account's sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl ExistenceQuestion {
    /// What the question is sealed for, so that nobody without the key that the parts share can ask.
    pub const SEAL_CONTEXT: &str = "existence question";
}

/// A sealed [`ExistenceQuestion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExistenceRequest {
    /// Sealed with the key that the product's parts share.
    pub sealed: String,
}

/// The answer to an [`ExistenceQuestion`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExistenceAnswer {
    /// False when it was deleted, or never was.
    pub exists: bool,
    /// What the account may do in the team, when both were asked about.
    pub role: Option<TeamRole>,
    /// A sealed [`Contact`] of the account or, of a team, of its owner, where the address was proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// Whom to write to. Has no `Debug`: it is a person's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The account's name.
    pub username: String,
    /// Its address, which was proven.
    pub email: String,
}

impl Contact {
    /// What one in an [`ExistenceAnswer`] is sealed for.
    pub const SEAL_CONTEXT: &str = "existence contact";
}

/// The error body of the identity area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IdentityError {
    /// A stable code in snake_case.
    pub error: String,
    /// False in the errors of validate; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
}
