use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::error::Error;

/// The number of bytes that bcrypt reads; it ignores the rest.
const MAX_BYTES: usize = 72;

/// A password in the form that is hashed: NFKC, so that the same keys give the same bytes on every machine.
#[derive(Clone)]
pub(crate) struct Password(String);

impl Password {
    /// Parses the password of a new account: at least 8 characters and at most 72 bytes, both after normalisation.
    pub(crate) fn parse_new(text: &str) -> Result<Self, Error> {
        let password = Self::from_input(text);
        if password.0.contains('\0') {
            return Err(Error::Validation("password must not contain NUL".into()));
        }
        if password.0.chars().count() < 8 {
            return Err(Error::Validation(
                "password must have at least 8 characters".into(),
            ));
        }
        if !password.is_hashable() {
            return Err(Error::PasswordTooLong);
        }
        Ok(password)
    }

    /// Accepts any password at sign-in. One that breaks the rules simply does not match.
    pub(crate) fn from_input(text: &str) -> Self {
        Self(text.nfkc().collect())
    }

    /// Whether bcrypt reads all of it.
    pub(crate) fn is_hashable(&self) -> bool {
        self.0.len() <= MAX_BYTES
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_password_has_at_least_eight_characters_and_at_most_72_bytes() {
        assert!(Password::parse_new("1234567").is_err());
        assert!(Password::parse_new("12345678").is_ok());
        assert!(Password::parse_new("ππππππππ").is_ok());
        assert!(Password::parse_new(&"x".repeat(72)).is_ok());
        assert!(matches!(
            Password::parse_new(&"x".repeat(73)),
            Err(Error::PasswordTooLong)
        ));
        assert!(matches!(
            Password::parse_new(&"π".repeat(37)),
            Err(Error::PasswordTooLong)
        ));
        // A ligature becomes three letters by normalisation; a letter with a combining mark becomes one.
        assert!(Password::parse_new("ﬃﬃﬃ").is_ok());
        assert!(Password::parse_new("e\u{301}234567").is_err());
        assert!(Password::parse_new("1234567\0").is_err());
    }

    #[test]
    fn unicode_spellings_that_look_the_same_are_one_password() {
        assert_eq!(
            Password::from_input("pa\u{df}wort e\u{301}").as_bytes(),
            Password::from_input("pa\u{df}wort é").as_bytes()
        );
    }

    proptest! {
        #[test]
        fn a_valid_password_fits_and_its_normalization_is_idempotent(text in "\\PC{0,80}") {
            if let Ok(password) = Password::parse_new(&text) {
                prop_assert!(password.is_hashable());
                let again = Password::from_input(std::str::from_utf8(password.as_bytes()).unwrap());
                prop_assert_eq!(again.as_bytes(), password.as_bytes());
            }
        }
    }
}
