use auth_types::wire::{Premium, User, is_placeholder};
use auth_types::{AccountRole, PremiumTier, Scope, UserId};
use chrono::{Duration, NaiveDateTime};
use diesel::prelude::*;

use crate::error::Error;
use crate::photos;
use crate::schema::users;
use crate::token_access::TokenAccess;

/// An account without its secrets. The password hash is loaded only where it is checked.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct AccountRow {
    pub(crate) id: UserId,
    pub(crate) username: String,
    pub(crate) email: String,
    pub(crate) email_verified: bool,
    pub(crate) bio: Option<String>,
    pub(crate) website_url: Option<String>,
    pub(crate) is_active: bool,
    role: String,
    premium_tier: String,
    premium_expires_at: Option<NaiveDateTime>,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
    pub(crate) photo_version: Option<String>,
    pub(crate) display_name: Option<String>,
    pub(crate) locale: Option<String>,
    pub(crate) zoneinfo: Option<String>,
}

#[cfg(test)]
impl AccountRow {
    /// Returns an active account.
    pub(crate) fn sample(id: UserId) -> Self {
        Self {
            id,
            username: "ada".to_owned(),
            email: "ada@placeholder.invalid".to_owned(),
            email_verified: false,
            bio: None,
            website_url: None,
            is_active: true,
            role: "USER".to_owned(),
            premium_tier: "FREE".to_owned(),
            premium_expires_at: None,
            created_at: NaiveDateTime::default(),
            updated_at: NaiveDateTime::default(),
            photo_version: None,
            display_name: None,
            locale: None,
            zoneinfo: None,
        }
    }
}

/// What a reader of an account sees besides its public fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Viewer {
    /// Whether they see the e-mail address.
    pub(crate) email: bool,
    /// Whether they see a placeholder in place of an address.
    pub(crate) placeholder: bool,
    /// Whether they see the language and the time zone.
    pub(crate) locale: bool,
}

impl Viewer {
    pub(crate) const SELF_OR_SUPERADMIN: Self = Self {
        email: true,
        placeholder: true,
        locale: true,
    };
    pub(crate) const STRANGER: Self = Self {
        email: false,
        placeholder: false,
        locale: false,
    };

    /// Returns how the holder of a token sees their own account. An OAuth client sees what its scopes allow, and never a
    /// placeholder address.
    pub(crate) fn from_access(access: &TokenAccess) -> Self {
        Self {
            email: access.sees(Scope::Email),
            placeholder: access.scope().is_none(),
            locale: access.sees(Scope::Profile),
        }
    }
}

impl AccountRow {
    /// The address in the form used for comparison.
    pub(crate) fn email_lower(&self) -> String {
        self.email.to_ascii_lowercase()
    }

    pub(crate) fn has_email(&self, email_lower: &str) -> bool {
        self.email_lower() == email_lower
    }

    /// The address, unless it is the placeholder.
    pub(crate) fn own_email(&self) -> Option<&str> {
        Some(self.email.as_str()).filter(|email| !is_placeholder(email))
    }

    /// The name that people read: the display name, or else the username.
    pub(crate) fn name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.username)
    }

    pub(crate) fn role(&self) -> Result<AccountRole, Error> {
        self.role
            .parse()
            .map_err(|error| Error::internal("users.role", error))
    }

    /// Returns the account as `viewer` sees it at `now`; `base_url` is the service's public URL.
    pub(crate) fn to_user(
        &self,
        viewer: Viewer,
        now: NaiveDateTime,
        base_url: &str,
    ) -> Result<User, Error> {
        Ok(User {
            id: self.id,
            username: self.username.clone(),
            display_name: self.display_name.clone(),
            email: (viewer.email && (viewer.placeholder || self.own_email().is_some()))
                .then(|| self.email.clone()),
            email_verified: self.email_verified,
            bio: self.bio.clone(),
            website_url: self.website_url.clone(),
            profile_photo_url: self.photo_url(base_url),
            has_profile_photo: self.photo_version.is_some(),
            locale: self.locale.clone().filter(|_| viewer.locale),
            zoneinfo: self.zoneinfo.clone().filter(|_| viewer.locale),
            created_at: self.created_at.and_utc(),
            updated_at: self.updated_at.and_utc(),
            is_active: self.is_active,
            role: self.role()?,
            premium_tier: self.tier_at(now)?,
        })
    }

    /// The public URL of the account's photo, if it has one.
    pub(crate) fn photo_url(&self, base_url: &str) -> Option<String> {
        photos::public_url(base_url, self.id, self.photo_version.as_deref())
    }

    /// Returns the account's plan at `now`, with the bandwidth of its tier.
    pub(crate) fn premium(
        &self,
        bandwidth: impl Fn(PremiumTier) -> i64,
        now: NaiveDateTime,
    ) -> Result<Premium, Error> {
        let tier = self.tier_at(now)?;
        Ok(Premium {
            tier,
            tier_name: tier.display_name().to_owned(),
            is_active: tier == PremiumTier::Premium,
            expires_at: self.premium_expires_at.map(|at| at.and_utc()),
            bandwidth_limit_mb: bandwidth(tier),
        })
    }

    /// Returns the stored plan, which may have ended.
    pub(crate) fn plan(&self) -> Result<PremiumPlan, Error> {
        let tier = self.premium_tier.parse();
        Ok(PremiumPlan {
            tier: tier.map_err(|error| Error::internal("users.premium_tier", error))?,
            expires_at: self.premium_expires_at,
        })
    }

    /// Returns the tier at `now`. A plan that has ended counts as FREE without any job having run.
    fn tier_at(&self, now: NaiveDateTime) -> Result<PremiumTier, Error> {
        let plan = self.plan()?;
        Ok(match plan.expires_at {
            Some(end) if end <= now => PremiumTier::Free,
            _ => plan.tier,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PremiumPlan {
    pub(crate) tier: PremiumTier,
    pub(crate) expires_at: Option<NaiveDateTime>,
}

impl PremiumPlan {
    pub(crate) const FREE: Self = Self {
        tier: PremiumTier::Free,
        expires_at: None,
    };
}

/// How long an unverified registration reserves its e-mail address.
pub(crate) const UNVERIFIED_CLAIM: Duration = Duration::hours(24);

/// The columns of an account that sign-in needs.
#[derive(Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct CredentialsRow {
    pub(crate) id: UserId,
    pub(crate) password_hash: String,
    pub(crate) is_active: bool,
}

#[derive(Insertable)]
#[diesel(table_name = users)]
pub(crate) struct NewAccount<'a> {
    pub(crate) username: &'a str,
    pub(crate) username_lower: &'a str,
    pub(crate) email: &'a str,
    pub(crate) password_hash: &'a str,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
}
