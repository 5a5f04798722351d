//! The name of a team in paths.

use crate::error::Error;

/// Names that paths of pages or of the API use.
const RESERVED: [&str; 6] = ["new", "admin", "api", "me", "settings", "invitations"];

/// A team's name in paths: 1 to 64 of `A-Z a-z 0-9 _ -`, stored as entered, compared case-insensitively.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slug(String);

impl Slug {
    /// Parses the slug of a new team.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let slug = Self::lookup(text).ok_or_else(|| {
            Error::Validation("slug must be 1 to 64 letters, digits, _ or -".into())
        })?;
        if RESERVED.contains(&slug.lower().as_str()) {
            return Err(Error::Validation("this slug is reserved".into()));
        }
        Ok(slug)
    }

    /// Parses a slug from a path. `None` if no team can have it.
    pub(crate) fn lookup(text: &str) -> Option<Self> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        ((1..=64).contains(&text.len()) && text.bytes().all(allowed)).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the lower-case form in which slugs are compared.
    pub(crate) fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reserved_words_are_refused_in_any_case() {
        for word in ["new", "Admin", "API", "me", "settings", "Invitations"] {
            assert!(Slug::parse(word).is_err(), "{word}");
            assert!(Slug::lookup(word).is_some(), "{word}");
        }
        assert!(Slug::parse("news").is_ok());
    }

    proptest! {
        #[test]
        fn a_slug_matches_its_pattern(text in "\\PC{0,70}") {
            let expected = (1..=64).contains(&text.chars().count())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert_eq!(Slug::lookup(&text).is_some(), expected);
        }
    }
}
