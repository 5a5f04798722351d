//! The code that a user reads off a device and types.

use service_kit::crypto::random_bytes;

/// No vowels, so that codes form no words, and no letters that look like digits (RFC 8628 section 6.1).
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const LENGTH: usize = 8;

/// A user code of eight letters, one of 25,600,000,000.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserCode(String);

impl UserCode {
    pub(super) fn generate() -> Self {
        let mut code = String::with_capacity(LENGTH);
        while code.len() < LENGTH {
            // 240 is a multiple of 20, so that all letters are equally likely.
            let bytes: [u8; 2 * LENGTH] = random_bytes();
            let fair = bytes.into_iter().filter(|byte| *byte < 240);
            let letters = fair.filter_map(|byte| LETTERS.get(usize::from(byte % 20)));
            code.extend(
                letters
                    .take(LENGTH - code.len())
                    .map(|letter| char::from(*letter)),
            );
        }
        Self(code)
    }

    /// Parses what a user typed: in any case, with spaces and punctuation anywhere (RFC 8628 section 6.1).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let code: String = text
            .chars()
            .filter(|c| !c.is_whitespace() && !c.is_ascii_punctuation())
            .take(LENGTH + 1)
            .map(|c| c.to_ascii_uppercase())
            .collect();
        let known = |byte| LETTERS.contains(&byte);
        (code.len() == LENGTH && code.bytes().all(known)).then_some(Self(code))
    }

    /// Returns the code as it is stored.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the code as it is shown: `WDJB-MJHT`.
    pub(super) fn shown(&self) -> String {
        let (first, second) = self.0.split_at(LENGTH / 2);
        format!("{first}-{second}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn user_codes_differ_use_all_letters_and_parse_however_they_are_typed() {
        let codes: Vec<_> = (0..1_000).map(|_| UserCode::generate()).collect();
        let different: HashSet<_> = codes.iter().map(|code| code.0.clone()).collect();
        assert_eq!(different.len(), 1_000);
        let letters: HashSet<_> = codes.iter().flat_map(|code| code.0.bytes()).collect();
        assert_eq!(letters.len(), LETTERS.len());
        for code in codes {
            let typed = format!(" {} ", code.shown().to_lowercase().replace('-', " - "));
            assert_eq!(UserCode::parse(&typed), Some(code));
        }
    }

    #[test]
    fn malformed_user_codes_are_refused() {
        for bad in [
            "",
            "WDJB",
            "WDJB-MJHTB",
            "WDJB-MJHA",
            "WDJB-MJH1",
            "WDJB-MJHÜ",
            "--------",
        ] {
            assert_eq!(UserCode::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_parsed_user_code_has_eight_valid_letters(text in "\\PC{0,24}") {
            if let Some(code) = UserCode::parse(&text) {
                prop_assert!(code.0.len() == LENGTH && code.0.bytes().all(|b| LETTERS.contains(&b)));
                prop_assert_eq!(UserCode::parse(&code.shown()), Some(code));
            }
        }
    }
}
