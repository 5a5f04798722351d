use crate::error::Error;

/// A valid username: 3 to 64 of `A-Z a-z 0-9 _ -`, stored as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Username(String);

impl Username {
    /// Parses a username, without surrounding white space.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(3..=64).contains(&text.len()) || !text.bytes().all(allowed) {
            return Err(Error::Validation(
                "username must be 3 to 64 letters, digits, _ or -".into(),
            ));
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name in the form used for comparison.
    pub(crate) fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// The placeholder address of an account without one; `.invalid` never resolves (RFC 2606).
    pub(crate) fn placeholder_email(&self) -> String {
        format!("{}@placeholder.invalid", self.0)
    }
}

/// Normalises a typed or pasted name for a lookup.
pub(crate) fn name_to_look_up(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_username_follows_the_contract() {
        for good in ["abc", "A-b_9", "123", "---", &"x".repeat(64)] {
            for typed in [
                good.to_owned(),
                format!(" \t{good}\r\n"),
                format!("\u{3000}{good}\u{a0}"),
            ] {
                assert!(Username::parse(&typed).is_ok_and(|name| name.as_str() == good));
            }
        }
        for bad in [
            "",
            "ab",
            "a b",
            "a.b",
            "ünï",
            "abc\0",
            "a\u{a0}bc",
            "abc\u{200b}",
            &"x".repeat(65),
        ] {
            assert!(Username::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_valid_username_matches_the_pattern(text in "\\PC{0,70}") {
            let expected = (3..=64).contains(&text.chars().count())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert_eq!(Username::parse(&text).is_ok_and(|name| name.as_str() == text), expected);
        }
    }
}
