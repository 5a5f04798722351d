//! Bodies of the identity service that more than one part of the product reads or writes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{AccountRole, PremiumTier, TeamId, TeamRole, UserId};

/// A user account, as other accounts and clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// The id of the account.
    pub id: UserId,
    /// The username, spelled as at registration.
    pub username: String,
    /// The name that people read, of 1 to 100 characters; null if the account has only its username.
    pub display_name: Option<String>,
    /// The e-mail address; null unless the caller is the account itself or a SUPERADMIN. An OAuth client needs the
    /// scope `email`, and receives a placeholder address from validate only.
    pub email: Option<String>,
    /// Whether the address is verified.
    pub email_verified: bool,
    /// Up to 2,000 characters.
    pub bio: Option<String>,
    /// An http or https URL.
    pub website_url: Option<String>,
    /// Absolute URL of the photo, ready to be shown; null without a photo.
    pub profile_photo_url: Option<String>,
    /// Whether the account has a photo.
    pub has_profile_photo: bool,
    /// The language, as a BCP 47 tag. It is absent if it is not set, and for callers who are neither the account itself nor
    /// a SUPERADMIN. An OAuth client needs the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "en-GB")]
    pub locale: Option<String>,
    /// The time zone, as its name in the IANA database; absent like the language.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/London")]
    pub zoneinfo: Option<String>,
    /// When the account was created.
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

/// Whether an address is a placeholder (`USERNAME@placeholder.invalid`), which an account without an address has.
/// Only the account itself, a SUPERADMIN and validate see it. No mail reaches it.
#[must_use]
pub fn is_placeholder(email: &str) -> bool {
    email.ends_with("@placeholder.invalid")
}

/// The tokens that a sign-in or a refresh returns.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct TokenPair {
    /// A JWT, sent as `Authorization: Bearer …`.
    pub access_token: String,
    /// Opaque; valid for one refresh.
    pub refresh_token: String,
    /// Lifetime of the access token in seconds.
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

/// The plan of an account, as validate returns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Premium {
    /// FREE or PREMIUM.
    pub tier: PremiumTier,
    /// The name of the tier that users see.
    pub tier_name: String,
    /// False for FREE.
    pub is_active: bool,
    /// When a paid plan ends; an OAuth client needs the scope `profile`.
    pub expires_at: Option<DateTime<Utc>>,
    /// Bandwidth limit in megabytes.
    pub bandwidth_limit_mb: i64,
}

/// The membership of an account in a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TeamMembership {
    /// The id of the team.
    pub id: TeamId,
    /// The team's name in paths.
    pub slug: String,
    /// The team's name that users see.
    pub name: String,
    /// The account's role in the team.
    pub role: TeamRole,
}

/// The response of validate: the account's fields at the top level (legacy form), and the account again as `user`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ValidateResponse {
    /// Always true; errors carry false.
    pub valid: bool,
    /// The account's fields at the top level.
    #[serde(flatten)]
    pub flat: User,
    /// The same account as an object.
    pub user: User,
    /// The account's plan.
    pub premium: Premium,
    /// Always `access`.
    pub token_type: String,
    /// The token's `exp`, in seconds since the Unix epoch.
    pub expires_at: i64,
    /// Space-separated scopes of an OAuth client's token; absent for all other tokens, which scopes do not limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// `sso` for a token that single sign-on gave to another site, `first_party` for a token of one of the product's
    /// own clients; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The origin of the site that received the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sso_origin: Option<String>,
    /// The token's session, its `sid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The OAuth client that the token was issued to, including the product's own clients; absent for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The account's teams; present with `?include=teams`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teams: Option<Vec<TeamMembership>>,
}

/// The question that another part of the product asks before it erases data: does this account exist, this team, or,
/// with both, this membership? With a session, it asks whether that is still valid. Deactivated accounts exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExistenceQuestion {
    /// The account.
    pub user_id: Option<UserId>,
    /// The team.
    pub team_id: Option<TeamId>,
    /// A session of the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl ExistenceQuestion {
    /// The sealing context of a question. Only holders of the key that the parts share can ask one.
    pub const SEAL_CONTEXT: &str = "existence question";
}

/// A sealed existence question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExistenceRequest {
    /// An `ExistenceQuestion`, sealed with the key that the product's parts share.
    pub sealed: String,
}

/// The answer to an existence question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExistenceAnswer {
    /// False if it was deleted or never existed; with a session, false if that is revoked or gone.
    pub exists: bool,
    /// The account's role in the team, when both were given.
    pub role: Option<TeamRole>,
    /// A sealed `Contact` of the account, or of the team's owner if a team was given. Absent if the address is not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
}

/// The recipient of a mail. It has no `Debug`, because it is personal data.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The username of the account.
    pub username: String,
    /// The verified address of the account.
    pub email: String,
}

impl Contact {
    /// The sealing context of a contact in an [`ExistenceAnswer`].
    pub const SEAL_CONTEXT: &str = "existence contact";
}

/// The error body of the identity service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IdentityError {
    /// A stable code in snake_case.
    pub error: String,
    /// False in the errors of validate; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid: Option<bool>,
    /// A sentence for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_description: Option<String>,
}
