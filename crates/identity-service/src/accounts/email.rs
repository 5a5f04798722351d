use std::borrow::Cow;

use crate::error::Error;

/// The longest path of RFC 5321 section 4.5.3.1.3, without its angle brackets.
const MAX_BYTES: usize = 254;

/// An e-mail address as typed, whose local part is a dot-string (RFC 5321 section 4.1.2), and never under the reserved `.invalid`. An
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
        let good_local = local.len() <= 64 && local.split('.').all(is_atom);
        let reserved = domain.to_ascii_lowercase();
        let reserved = reserved == "invalid" || reserved.ends_with(".invalid");
        if text.len() > MAX_BYTES
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

/// Whether the text is an atom of RFC 5322 section 3.2.3.
fn is_atom(text: &str) -> bool {
    let is_atom_char = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+/=?^_`{|}~-".contains(&b);
    !text.is_empty() && text.bytes().all(is_atom_char)
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
            ".a@b.c",
            "a.@b.c",
            "a..b@b.c",
            ".@b.c",
            "\"a b\"@b.c",
            "a@[127.0.0.1]",
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
        fn no_email_input_panics(text in "\\PC{0,80}") {
            if let Ok(email) = Email::parse(&text) {
                prop_assert!(email.as_str().is_ascii());
            }
        }

        #[test]
        fn a_mail_can_be_addressed_to_every_accepted_address(
            local in "[a-z.!#$%&'*+/=?^_`{|}~-]{1,66}", domain in "[a-z0-9.-]{1,70}"
        ) {
            let text = format!("{local}@{domain}");
            if Email::parse(&text).is_ok() {
                prop_assert!(text.parse::<lettre::Address>().is_ok(), "{}", text);
            }
        }
    }
}
