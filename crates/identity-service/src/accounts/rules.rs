//! Rules for usernames, passwords and e-mail addresses, parsed at the edge and trusted inside.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::error::Error;

/// The number of bytes that bcrypt reads; it ignores the rest.
const MAX_PASSWORD_BYTES: usize = 72;
/// The longest path of RFC 5321 section 4.5.3.1.3, without its angle brackets.
const MAX_EMAIL_BYTES: usize = 254;

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

/// A password in the form that is hashed: NFKC, so that the same keys give the same bytes on every machine.
#[derive(Clone)]
pub(crate) struct Password(String);

impl Password {
    /// Parses the password of a new account: at least 8 characters and at most 72 bytes, both after normalisation.
    pub(crate) fn parse_new(text: &str) -> Result<Self, Error> {
        let password = Self::presented(text);
        if password.0.contains('\0') {
            return Err(Error::Validation("password must not contain NUL".into()));
        }
        if password.0.chars().count() < 8 {
            return Err(Error::Validation(
                "password must have at least 8 characters".into(),
            ));
        }
        if !password.fits() {
            return Err(Error::PasswordTooLong);
        }
        Ok(password)
    }

    /// Accepts any password at sign-in. One that breaks the rules simply does not match.
    pub(crate) fn presented(text: &str) -> Self {
        Self(text.nfkc().collect())
    }

    /// Whether bcrypt reads all of it.
    pub(crate) fn fits(&self) -> bool {
        self.0.len() <= MAX_PASSWORD_BYTES
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

/// An e-mail address as typed, in the shape that HTML forms accept, and never under the reserved `.invalid`. An
/// internationalised domain is stored in its ASCII form (UTS 46), which mail servers understand and which has one
/// spelling. The local part is ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Email(String);

impl Email {
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let refused = || Error::Validation("email is not a valid e-mail address".into());
        let (local, typed) = text.rsplit_once('@').ok_or_else(refused)?;
        let domain = ascii_domain(typed).ok_or_else(refused)?;
        let text = format!("{local}@{domain}");
        let local_char = |b: u8| b.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&b);
        let good_local = (1..=64).contains(&local.len()) && local.bytes().all(local_char);
        let reserved = domain.to_ascii_lowercase();
        let reserved = reserved == "invalid" || reserved.ends_with(".invalid");
        if text.len() > MAX_EMAIL_BYTES
            || !good_local
            || !domain.split('.').all(is_domain_label)
            || reserved
        {
            return Err(refused());
        }
        Ok(Self(text))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The address in the form used for comparison.
    pub(crate) fn lower(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Returns the stored form of a domain, which is ASCII. An ASCII domain stays as typed.
pub(crate) fn ascii_domain(domain: &str) -> Option<Cow<'_, str>> {
    match domain.is_ascii() {
        true => Some(domain.into()),
        false => idna::domain_to_ascii_strict(domain).ok().map(Cow::Owned),
    }
}

fn is_domain_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
                assert_eq!(Username::parse(&typed).unwrap().as_str(), good);
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
            Password::presented("pa\u{df}wort e\u{301}").as_bytes(),
            Password::presented("pa\u{df}wort é").as_bytes()
        );
    }

    #[test]
    fn an_email_address_has_the_usual_form() {
        for good in ["a@b.example", "A.b+c@sub.b-c.example", "x@localhost"] {
            assert!(Email::parse(good).is_ok(), "{good}");
        }
        let long = format!("{}@b.example", "a".repeat(65));
        for bad in [
            "",
            "a",
            "@",
            "a@",
            "@b",
            "a@b..c",
            "a@-b.c",
            "a b@c.d",
            "a@b@c.d",
            "a@b.invalid",
            "a@INVALID",
            "a@b.c\r\n",
            "ü@b.c",
            &long,
        ] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_internationalized_domain_is_the_same_in_every_spelling() {
        for typed in [
            "Ada@b\u{fc}cher.example",
            "Ada@bu\u{308}cher.example",
            "Ada@B\u{dc}CHER.Example",
            "Ada@b\u{fc}cher\u{3002}example",
            "Ada@\u{ff42}\u{fc}cher.example",
            "Ada@xn--bcher-kva.example",
        ] {
            assert_eq!(
                Email::parse(typed).unwrap().lower(),
                "ada@xn--bcher-kva.example"
            );
        }
        assert_eq!(
            Email::parse("a@stra\u{df}e.example").unwrap().as_str(),
            "a@xn--strae-oqa.example"
        );
        let long = format!("a@{}.example", "\u{fc}".repeat(64));
        for bad in [
            "a@placeholder\u{ff0e}invalid",
            "a@x.\u{ff49}nvalid",
            "a@b\u{fc}cher..example",
            "a@-\u{fc}.example",
            "a@\u{fc}cher example",
            "a@\u{fc}\u{ff20}b.example",
            "a@\u{202e}\u{fc}.example",
            "a@\u{301}b.example",
            "b\u{fc}cher@\u{fc}.example",
            &long,
        ] {
            assert!(Email::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_valid_username_matches_the_pattern(text in "\\PC{0,70}") {
            let expected = (3..=64).contains(&text.chars().count())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert_eq!(Username::parse(&text).is_ok_and(|name| name.as_str() == text), expected);
        }

        #[test]
        fn a_valid_password_fits_and_its_normalization_is_idempotent(text in "\\PC{0,80}") {
            if let Ok(password) = Password::parse_new(&text) {
                prop_assert!(password.fits());
                let again = Password::presented(std::str::from_utf8(password.as_bytes()).unwrap());
                prop_assert_eq!(again.as_bytes(), password.as_bytes());
            }
        }

        #[test]
        fn no_email_input_panics(text in "\\PC{0,80}") {
            if let Ok(email) = Email::parse(&text) {
                prop_assert!(email.as_str().is_ascii());
            }
        }
    }
}
