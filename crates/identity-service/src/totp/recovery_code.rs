use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::crypto::{random_bytes, sha256};

use super::code_check::plain;

/// Crockford's base32, without characters that look alike.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 75 random bits.
const LENGTH: usize = 15;
/// Characters per group, for readability.
const GROUP: usize = 5;
/// Codes per account.
const COUNT: usize = 10;

/// A code that works once in place of one from the authenticator app.
pub(super) struct RecoveryCode([u8; LENGTH]);

impl RecoveryCode {
    pub(super) fn generate_set() -> Vec<Self> {
        (0..COUNT).map(|_| Self::generate()).collect()
    }

    fn generate() -> Self {
        // 32 divides 256, so every character is equally likely.
        let pick = |byte: u8| ALPHABET.get(usize::from(byte % 32)).copied();
        Self(random_bytes::<LENGTH>().map(|byte| pick(byte).unwrap_or(b'0')))
    }

    /// Parses a code as people type it: in either case, with or without separators, with letters for
    /// the digits that they resemble.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut code = [0; LENGTH];
        let mut places = code.iter_mut();
        for typed in plain(text).bytes() {
            let meant = match typed.to_ascii_lowercase() {
                b'o' => b'0',
                b'i' | b'l' => b'1',
                other => other,
            };
            if !ALPHABET.contains(&meant) {
                return None;
            }
            *places.next()? = meant;
        }
        places.next().is_none().then_some(Self(code))
    }

    /// Returns the stored hash. A fast hash suffices: 2^75 codes cannot be tried at any speed. Slow hashes are for
    /// secrets that people choose.
    pub(super) fn hash(&self, user_id: UserId) -> String {
        let bound = [user_id.to_string().as_bytes(), b":", &self.0].concat();
        URL_SAFE_NO_PAD.encode(sha256(&bound))
    }

    /// Returns the code as its owner sees it, once.
    pub(super) fn expose(&self) -> String {
        let groups: Vec<_> = self
            .0
            .chunks(GROUP)
            .map(|group| String::from_utf8_lossy(group))
            .collect();
        groups.join("-")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeSet;

    use super::*;

    fn ada() -> UserId {
        "1".parse().unwrap()
    }

    #[test]
    fn recovery_codes_differ_and_parse_as_people_type_them() {
        let set = RecoveryCode::generate_set();
        let shown: BTreeSet<_> = set.iter().map(RecoveryCode::expose).collect();
        assert_eq!(shown.len(), COUNT);
        for code in &set {
            let shown = code.expose();
            assert_eq!(shown.len(), 17);
            for typed in [
                shown.clone(),
                shown.to_uppercase(),
                shown.replace('-', ""),
                shown.replace('-', " "),
                shown.replace('1', "l").replace('0', "O"),
            ] {
                let read = RecoveryCode::parse(&typed).unwrap();
                assert_eq!(read.hash(ada()), code.hash(ada()), "{typed}");
            }
            assert_ne!(code.hash(ada()), code.hash("2".parse().unwrap()));
        }
    }

    #[test]
    fn malformed_recovery_codes_are_refused() {
        for bad in [
            "",
            "123456",
            "-----",
            "aaaaa-aaaaa-aaaa",
            "aaaaa-aaaaa-aaaaaa",
            "aaaaa-aaaaa-aaaau",
        ] {
            assert!(RecoveryCode::parse(bad).is_none(), "{bad}");
        }
    }
}
