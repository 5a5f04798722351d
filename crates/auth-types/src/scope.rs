use std::fmt;
use std::str::FromStr;

use crate::UnknownName;
use crate::roles::names;

/// A permission that an account can give to an OAuth client (RFC 6749 section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Learn who the account is, through an ID token and the userinfo endpoint.
    OpenId,
    /// Read the account's username and photo at the userinfo endpoint.
    Profile,
    /// Read the account's e-mail address.
    Email,
    /// Learn in which teams the account is, through the claim `groups`.
    Groups,
    /// Read the account's teams and their members.
    Teams,
    /// Change teams, members and invitations.
    TeamsWrite,
    /// Read the account's projects, focus sessions, points and statistics.
    SessionsRead,
    /// Plan, start and submit focus sessions.
    SessionsWrite,
    /// Manage chat integrations and webhooks.
    IntegrationsWrite,
    /// Stay signed in. A refresh token is issued even without this scope.
    OfflineAccess,
    /// Manage the account's profile, photo and sign-ins, and all of its data. For first-party clients only.
    Account,
}

impl Scope {
    /// Every scope, in the order in which sets are written.
    pub const ALL: [Self; 11] = [
        Self::OpenId,
        Self::Profile,
        Self::Email,
        Self::Groups,
        Self::Teams,
        Self::TeamsWrite,
        Self::SessionsRead,
        Self::SessionsWrite,
        Self::IntegrationsWrite,
        Self::OfflineAccess,
        Self::Account,
    ];

    fn bit(self) -> u16 {
        let place = Self::ALL.iter().position(|scope| *scope == self);
        place.map_or(0, |place| 1 << place)
    }
}

// Scope names are case-sensitive (RFC 6749 section 3.3).
names!(
    Scope,
    str::eq,
    "openid, profile, email, groups, teams, teams:write, sessions:read, sessions:write, integrations:write, offline_access, account",
    OpenId = "openid",
    Profile = "profile",
    Email = "email",
    Groups = "groups",
    Teams = "teams",
    TeamsWrite = "teams:write",
    SessionsRead = "sessions:read",
    SessionsWrite = "sessions:write",
    IntegrationsWrite = "integrations:write",
    OfflineAccess = "offline_access",
    Account = "account"
);

/// A set of scopes. Its text form separates them by spaces, in the order of [`Scope::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ScopeSet(u16);

impl ScopeSet {
    /// Returns the set of all scopes.
    #[must_use]
    pub fn all() -> Self {
        Scope::ALL.into_iter().collect()
    }

    /// Parses names separated by spaces, and leaves out unknown ones (RFC 6749 section 3.3).
    #[must_use]
    pub fn parse_known(text: &str) -> Self {
        text.split(' ')
            .filter_map(|name| name.parse::<Scope>().ok())
            .collect()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set contains `scope`.
    #[must_use]
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether the set contains every scope of `other`.
    #[must_use]
    pub fn includes(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns the scopes that are in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the scopes that are in both sets.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the scopes in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL
            .into_iter()
            .filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |set, scope| set | scope.bit()))
    }
}

impl FromStr for ScopeSet {
    type Err = UnknownName;

    /// Parses names separated by spaces. An empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        text.split(' ')
            .filter(|name| !name.is_empty())
            .map(str::parse)
            .collect()
    }
}

impl fmt::Display for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, scope) in self.iter().enumerate() {
            if n > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_whole_and_with_regard_to_case() {
        for bad in [
            "OpenID",
            "sessions",
            "openid,profile",
            "teams:Write",
            "openid\tprofile",
        ] {
            assert!(bad.parse::<ScopeSet>().is_err(), "{bad}");
        }
        assert_eq!("".parse(), Ok(ScopeSet::default()));
        assert_eq!(
            "  email openid email "
                .parse::<ScopeSet>()
                .map(|set| set.to_string()),
            Ok("openid email".to_owned())
        );
    }

    proptest! {
        #[test]
        fn a_set_reads_back_and_holds_what_was_put_in(picked in proptest::collection::vec(0_usize..11, 0..12)) {
            let scopes: Vec<Scope> = picked.iter().filter_map(|n| Scope::ALL.get(*n).copied()).collect();
            let set: ScopeSet = scopes.iter().copied().collect();
            prop_assert_eq!(set.to_string().parse(), Ok(set));
            for scope in Scope::ALL {
                prop_assert_eq!(set.contains(scope), scopes.contains(&scope));
            }
            prop_assert!(ScopeSet::all().includes(set));
            prop_assert_eq!(set.includes(ScopeSet::all()), set == ScopeSet::all());
        }
    }
}
