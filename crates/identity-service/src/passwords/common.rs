//! The most common passwords, which attackers try first.

use super::password::Password;

/// The 10,000 most common passwords of two lists, which `common.LICENSE.txt` names; in lower case, one per line. Those
/// under 8 characters are left out, because no password may be so short.
const COMMON: &str = include_str!("common.txt");

/// Whether the password is one of them, regardless of case.
pub(super) fn is_common(password: &Password) -> bool {
    let lower = password.as_str().to_lowercase();
    COMMON.lines().any(|common| common == lower)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn common_passwords_are_recognized_in_any_case_and_unicode_form() {
        for (text, expected) in [
            ("password", true),
            ("PassWord1", true),
            ("12345678", true),
            (
                "\u{ff50}\u{ff41}\u{ff53}\u{ff53}\u{ff57}\u{ff4f}\u{ff52}\u{ff44}",
                true,
            ),
            ("pa\u{17f}\u{17f}word", true),
            ("QWERTYUIOP", true),
            ("correct horse", false),
            ("password of my own", false),
        ] {
            let password = Password::parse_new(text).unwrap();
            assert_eq!(is_common(&password), expected, "{text}");
        }
        assert!(
            COMMON
                .lines()
                .all(|line| line.len() >= 8 && line == line.to_lowercase())
        );
    }
}
