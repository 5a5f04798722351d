use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

/// The error for a name that is not a value of the expected type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected one of {expected}")]
pub struct UnknownName {
    /// The accepted names, for the error message.
    pub expected: &'static str,
}

/// What an account may do in a team. Ordered by power: `Member < Admin < Owner`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TeamRole {
    /// May see the team and its members, and may leave.
    Member,
    /// May also manage members and the team's description, but not the owner.
    Admin,
    /// May do everything. A team has exactly one owner.
    Owner,
}

/// What an account may do in the whole installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum AccountRole {
    /// An ordinary account.
    User,
    /// May administer accounts, clients and keys.
    Superadmin,
}

/// The plan of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PremiumTier {
    /// The plan of every new account.
    Free,
    /// The paid plan.
    Premium,
}

impl PremiumTier {
    /// Returns the name that users see.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Premium => "Premium",
        }
    }
}

/// Implements `as_str`, `Display` and `FromStr` from the list of names. `$is_same` compares a name with the parsed text.
macro_rules! names {
    ($kind:ident, $is_same:path, $expected:literal, $($value:ident = $name:literal),+) => {
        impl $kind {
            /// Returns the name on the wire and in the database.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
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
pub(crate) use names;

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
