//! The grant types that a client may use at the token endpoint (`grant_types` of RFC 7591 section 2).

use std::fmt;

use crate::error::Error;

/// A grant type of the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantType {
    AuthorizationCode,
    RefreshToken,
    /// The device authorization grant (RFC 8628 section 3.4).
    DeviceCode,
}

impl GrantType {
    pub(crate) const ALL: [Self; 3] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::DeviceCode,
    ];

    /// Returns the name on the wire and in the database.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::DeviceCode => "urn:ietf:params:oauth:grant-type:device_code",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// Parses a name as people write it: `device_code` stands for the long name.
    fn parse_short(name: &str) -> Option<Self> {
        match name {
            "device_code" => Some(Self::DeviceCode),
            name => Self::parse(name),
        }
    }
}

/// The grant types of a client, in the order of [`GrantType::ALL`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantTypes(Vec<GrantType>);

impl Default for GrantTypes {
    fn default() -> Self {
        Self(vec![GrantType::AuthorizationCode, GrantType::RefreshToken])
    }
}

impl GrantTypes {
    /// Parses names, one or more in each text. Returns `None` if there are none.
    pub(crate) fn parse(names: &[String]) -> Result<Option<Self>, Error> {
        let names = names.iter().flat_map(|text| text.split_whitespace());
        let given: Option<Vec<_>> = names.map(GrantType::parse_short).collect();
        let given = given.ok_or(Error::Validation(
            "a grant type must be authorization_code, refresh_token or urn:ietf:params:oauth:grant-type:device_code".into(),
        ))?;
        let sorted = GrantType::ALL.into_iter().filter(|it| given.contains(it));
        Ok((!given.is_empty()).then(|| Self(sorted.collect())))
    }

    pub(crate) fn contains(&self, grant_type: GrantType) -> bool {
        self.0.contains(&grant_type)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|it| it.as_str()).collect()
    }
}

impl fmt::Display for GrantTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(" "))
    }
}
