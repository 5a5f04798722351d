use auth_types::wire::TeamMembership;
use auth_types::{Scope, ScopeSet};
use serde::Serialize;
use utoipa::ToSchema;

use super::clients::GroupsClaim;
use crate::accounts::model::AccountRow;
use crate::app::App;
use crate::error::Error;
use crate::teams::memberships::list_memberships;

/// The maximum length of all groups in an ID token, in bytes. Programs store the token in a cookie, which has at most
/// 4 KiB, so a longer list would make sign-ins fail.
const MAX_GROUP_BYTES: usize = 2_048;

/// The standard claims about an account (OpenID Connect Core section 5.1), and its groups. A claim is absent if its scope
/// was not granted.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct ProfileClaims {
    /// The display name, or else the username; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The username; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_username: Option<String>,
    /// The address of the account's public profile; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// The address of the account's photo, if it has one; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
    /// The language (BCP 47), if the account has set it; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    /// The time zone (IANA), if the account has set it; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    zoneinfo: Option<String>,
    /// When the profile was last changed, in seconds since the epoch; requires the scope `profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<i64>,
    /// The e-mail address, if the account has one; requires the scope `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Whether the account's owner has verified the e-mail address; absent without `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    email_verified: Option<bool>,
    /// The slug of each of the account's teams, or `slug:role` if the client is registered for it; requires the scope
    /// `groups` or `teams`. An ID token has no groups if they would take more than 2,048 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<String>>,
}

impl ProfileClaims {
    /// The names of these claims, for the server metadata.
    pub(crate) const NAMES: [&str; 10] = [
        "name",
        "preferred_username",
        "profile",
        "picture",
        "locale",
        "zoneinfo",
        "updated_at",
        "email",
        "email_verified",
        "groups",
    ];

    /// Returns the claims of an account that the scope allows; `None` allows all. `groups` is the form of its groups.
    pub(crate) async fn load(
        app: &App,
        account: &AccountRow,
        scope: Option<ScopeSet>,
        groups: Option<GroupsClaim>,
    ) -> Result<Self, Error> {
        let has = |wanted| scope.is_none_or(|scope| scope.contains(wanted));
        let (base_url, profile) = (&app.base_url, has(Scope::Profile));
        let email = account.own_email().filter(|_| has(Scope::Email));
        let teams = match has(Scope::Groups) || has(Scope::Teams) {
            true => Some(list_memberships(app, account.id).await?),
            false => None,
        };
        Ok(Self {
            name: profile.then(|| account.name().to_owned()),
            preferred_username: profile.then(|| account.username.clone()),
            profile: profile.then(|| format!("{base_url}/api/auth/user/{}", account.id)),
            picture: account.photo_url(base_url).filter(|_| profile),
            locale: account.locale.clone().filter(|_| profile),
            zoneinfo: account.zoneinfo.clone().filter(|_| profile),
            updated_at: profile.then(|| account.updated_at.and_utc().timestamp()),
            email: email.map(str::to_owned),
            email_verified: email.map(|_| account.email_verified),
            groups: teams.map(|teams| teams.iter().map(|team| group(team, groups)).collect()),
        })
    }

    /// Leaves out the groups if they are too long for an ID token. An incomplete list would look complete; a client that
    /// finds none asks the userinfo endpoint.
    pub(crate) fn for_id_token(self) -> Self {
        let fits = |groups: &Vec<String>| {
            groups.iter().map(|group| group.len() + 3).sum::<usize>() <= MAX_GROUP_BYTES
        };
        Self {
            groups: self.groups.filter(fits),
            ..self
        }
    }
}

fn group(team: &TeamMembership, form: Option<GroupsClaim>) -> String {
    match form {
        Some(GroupsClaim::SlugAndRole) => format!("{}:{}", team.slug, team.role.as_str()),
        Some(GroupsClaim::Slug) | None => team.slug.clone(),
    }
}
