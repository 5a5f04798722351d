use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

/// A name that stands for no value of the wanted kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected one of {expected}")]
pub struct UnknownName {
    /// The names that are known, for the message.
    pub expected: &'static str,
}

/// What somebody may do in a team. Ordered by power: `Member < Admin < Owner`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TeamRole {
    /// Reads the team and its members; may leave.
    Member,
    /// Manages members and the team's description, never the owner.
    Admin,
    /// Everything; there is exactly one.
    Owner,
}

impl fmt::Display for TeamRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an account may do in the whole installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum AccountRole {
    /// An ordinary account.
    User,
    /// Administers accounts, clients and keys.
    Superadmin,
}

/// The plan an account is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PremiumTier {
    /// The plan everybody starts with.
    Free,
    /// The paid plan.
    Premium,
}

impl PremiumTier {
    /// The name for people.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Premium => "Premium",
        }
    }
}

/// The names of all values on the wire and in the database, and how a name is compared with what is read.
macro_rules! names {
    ($kind:ident, $is_same:path, $expected:literal, $($value:ident = $name:literal),+) => {
        impl $kind {
            /// The name on the wire and in the database.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl FromStr for $kind {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let all = [$(Self::$value),+];
                let mut found = all.into_iter().filter(|value| $is_same(value.as_str(), text));
                found.next().ok_or(UnknownName {
                    expected: $expected,
                })
            }
        }
    };
}

names!(
    TeamRole,
    str::eq_ignore_ascii_case,
    "owner, admin, member",
    Member = "member",
    Admin = "admin",
    Owner = "owner"
);
names!(
    AccountRole,
    str::eq,
    "USER, SUPERADMIN",
    User = "USER",
    Superadmin = "SUPERADMIN"
);
names!(
    PremiumTier,
    str::eq,
    "FREE, PREMIUM",
    Free = "FREE",
    Premium = "PREMIUM"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn team_roles_are_read_without_regard_to_case_and_ordered_by_power() {
        assert_eq!("OWNER".parse(), Ok(TeamRole::Owner));
        assert_eq!("aDmin".parse(), Ok(TeamRole::Admin));
        assert!("".parse::<TeamRole>().is_err());
        assert!("boss".parse::<TeamRole>().is_err());
        assert!(TeamRole::Member < TeamRole::Admin && TeamRole::Admin < TeamRole::Owner);
    }
}
