use std::fmt;
use std::str::FromStr;

/// A session's id as a part of a path. None of its characters can lead to another path of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionId(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InvalidId;

impl FromStr for SessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let fits = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        match text.len() == 36 && text.bytes().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidId),
        }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A team's slug as a part of a path, with the same guarantee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slug(String);

impl Slug {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Slug {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        match (1..=64).contains(&text.len()) && text.bytes().all(fits) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidId),
        }
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_lead_elsewhere_is_no_id() {
        assert!(
            "019a0000-0000-7000-8000-000000000000"
                .parse::<SessionId>()
                .is_ok()
        );
        for text in [
            "",
            "..",
            "../user/data",
            "019a0000-0000-7000-8000-00000000000/",
        ] {
            assert_eq!(text.parse::<SessionId>(), Err(InvalidId), "{text}");
            assert_eq!(text.parse::<Slug>(), Err(InvalidId), "{text}");
        }
    }
}
