use auth_types::{AccountRole, PremiumTier};
use chrono::{NaiveDateTime, SubsecRound as _};
use diesel::prelude::*;
use secrecy::SecretString;
use serde::Serialize;
use service_kit::crypto::random_bytes;

use super::wire::{AdminUser, UpdateUserRequest};
use crate::accounts::model::PremiumPlan;
use crate::accounts::{Email, Username};
use crate::error::Error;
use crate::passwords::Password;
use crate::schema::users;

/// An account that an administrator creates.
pub(crate) struct NewUser {
    pub(crate) username: Username,
    pub(crate) email: Option<Email>,
    /// Generated if absent.
    pub(crate) password: Option<Password>,
    pub(crate) role: AccountRole,
}

impl PremiumPlan {
    /// Returns the plan after the changes. A PREMIUM plan that has ended counts as FREE, so that buying it again does
    /// not restore its old end.
    pub(crate) fn changed(
        self,
        changes: &UpdateUserRequest,
        now: NaiveDateTime,
    ) -> Result<Self, Error> {
        let lapsed = self.expires_at.is_some_and(|end| end <= now);
        let current = if lapsed { Self::FREE } else { self };
        let end = changes
            .premium_expires_at
            .map(|end| end.map(|end| end.naive_utc().trunc_subsecs(6)));
        match (changes.premium_tier, end) {
            (None, None) => Ok(self),
            (Some(PremiumTier::Free), None | Some(None)) => Ok(Self::FREE),
            (Some(PremiumTier::Free), Some(Some(_))) => Err(Error::Validation(
                "premium_expires_at requires premium_tier PREMIUM".into(),
            )),
            (None, Some(_)) if current.tier == PremiumTier::Free => Err(Error::Validation(
                "premium_expires_at requires premium_tier PREMIUM".into(),
            )),
            (_, Some(Some(end))) if end <= now => Err(Error::Validation(
                "premium_expires_at must be in the future".into(),
            )),
            (_, end) => Ok(Self {
                tier: PremiumTier::Premium,
                expires_at: end.unwrap_or(current.expires_at),
            }),
        }
    }
}

/// The columns that administration changes.
#[derive(AsChangeset)]
#[diesel(table_name = users)]
pub(super) struct AccountChanges {
    pub(super) is_active: bool,
    pub(super) role: &'static str,
    pub(super) premium_tier: &'static str,
    #[diesel(treat_none_as_null = true)]
    pub(super) premium_expires_at: Option<NaiveDateTime>,
    pub(super) updated_at: NaiveDateTime,
}

/// Facts about sign-ins that an administrator sees beside the account.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionCounts {
    /// The number of valid sessions.
    pub(super) open: i64,
    /// The time of the latest session that is still stored.
    pub(super) last_at: Option<NaiveDateTime>,
    pub(super) totp_enabled: bool,
}

/// The result of changing an account.
#[derive(Serialize)]
pub(crate) struct UserUpdate {
    /// False if the account already was in the requested state.
    pub(crate) changed: bool,
    pub(crate) sessions_ended: usize,
    pub(crate) user: AdminUser,
}

/// Letters and digits that are not mistaken for one another.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Generates a password of 100 random bits that can be dictated over the phone: four groups of five.
pub(super) fn generate_password() -> SecretString {
    let mut text = String::with_capacity(23);
    for (n, byte) in random_bytes::<20>().into_iter().enumerate() {
        if n > 0 && n % 5 == 0 {
            text.push('-');
        }
        // 256 is a multiple of 32, so that every letter is equally likely.
        let letter = ALPHABET.get(usize::from(byte) % ALPHABET.len());
        text.extend(letter.copied().map(char::from));
    }
    text.into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use chrono::{DateTime, Utc};
    use secrecy::ExposeSecret as _;

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn plan(tier: PremiumTier, end: Option<&str>) -> PremiumPlan {
        PremiumPlan {
            tier,
            expires_at: end.map(|end| at(end).naive_utc()),
        }
    }

    #[test]
    fn a_plan_changes_as_requested_and_an_expired_end_is_not_reused() {
        const FREE: PremiumTier = PremiumTier::Free;
        const PREMIUM: PremiumTier = PremiumTier::Premium;
        let (past, soon, later) = (
            Some("2026-01-01T00:00:00Z"),
            Some("2026-12-01T00:00:00Z"),
            Some("2027-12-01T00:00:00Z"),
        );
        let now = at("2026-11-21T12:00:00Z").naive_utc();
        let change = |from: PremiumPlan, tier: Option<PremiumTier>, end: Option<Option<&str>>| {
            let changes = UpdateUserRequest {
                premium_tier: tier,
                premium_expires_at: end.map(|end| end.map(at)),
                ..UpdateUserRequest::default()
            };
            from.changed(&changes, now).ok()
        };
        let free = plan(FREE, None);
        let premium = |end| plan(PREMIUM, end);
        for (from, tier, end, to) in [
            (free, None, None, Some(free)),
            (free, Some(PREMIUM), None, Some(premium(None))),
            (free, Some(PREMIUM), Some(soon), Some(premium(soon))),
            (free, Some(PREMIUM), Some(past), None),
            (free, None, Some(soon), None),
            (free, None, Some(None), None),
            (free, Some(FREE), Some(soon), None),
            (premium(soon), Some(PREMIUM), None, Some(premium(soon))),
            (premium(soon), None, Some(later), Some(premium(later))),
            (premium(soon), None, Some(None), Some(premium(None))),
            (premium(soon), Some(FREE), None, Some(free)),
            (premium(past), Some(PREMIUM), None, Some(premium(None))),
            (premium(past), None, Some(later), None),
            (premium(past), None, None, Some(premium(past))),
        ] {
            assert_eq!(change(from, tier, end), to, "{from:?} {tier:?} {end:?}");
        }
    }

    #[test]
    fn generated_passwords_are_valid_and_differ() {
        let (one, two) = (generate_password(), generate_password());
        assert_ne!(one.expose_secret(), two.expose_secret());
        assert_eq!(one.expose_secret().len(), 23);
        assert!(Password::parse_new(one.expose_secret()).is_ok());
    }
}
