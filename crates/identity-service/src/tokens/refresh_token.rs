//! Refresh tokens: opaque, stored as hashes, each valid for one rotation.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::crypto::{hmac_sha256, random_bytes, sha256};

/// The part that all refresh tokens of a session share. It is as secret as the rest: only a holder of one knows it.
const LINEAGE_BYTES: usize = 16;
/// The length of a token. Each rotation replaces the last 32 bytes, which are random or derived.
const TOKEN_BYTES: usize = LINEAGE_BYTES + 32;

/// A refresh token in plain text.
#[derive(Clone)]
pub(crate) struct RefreshToken([u8; TOKEN_BYTES]);

impl RefreshToken {
    /// Generates the first token of a session.
    pub(crate) fn generate() -> Self {
        Self(random_bytes())
    }

    /// Parses a presented token. `None` if the service cannot have issued it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// Returns the token that replaces this one. It is derived: presenting this one again within the grace period gives
    /// the same successor, although only its hash is stored.
    pub(crate) fn successor(&self, key: &[u8; 32]) -> Self {
        let mut next = self.clone();
        for (byte, derived) in next
            .0
            .iter_mut()
            .skip(LINEAGE_BYTES)
            .zip(hmac_sha256(key, &self.0))
        {
            *byte = derived;
        }
        next
    }

    /// Returns the stored hash of the lineage.
    pub(crate) fn lineage(&self) -> String {
        hashed(self.0.get(..LINEAGE_BYTES).unwrap_or_default())
    }

    /// Returns the stored hash of the token.
    pub(crate) fn hash(&self) -> String {
        hashed(&self.0)
    }

    /// Returns the text for the client.
    pub(crate) fn expose(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }
}

impl std::fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RefreshToken(…)")
    }
}

fn hashed(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(sha256(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_successor_is_deterministic_keeps_its_lineage_and_depends_on_the_key() {
        let token = RefreshToken::generate();
        let next = token.successor(&[1; 32]);
        assert_eq!(next.hash(), token.successor(&[1; 32]).hash());
        assert_ne!(next.hash(), token.successor(&[2; 32]).hash());
        assert_ne!(next.hash(), token.hash());
        assert_eq!(next.lineage(), token.lineage());
        assert_ne!(RefreshToken::generate().lineage(), token.lineage());
    }

    #[test]
    fn a_token_parses_from_its_exact_text_only() {
        let token = RefreshToken::generate();
        let text = token.expose();
        assert_eq!(RefreshToken::parse(&text).unwrap().hash(), token.hash());
        for bad in [
            "",
            "x",
            &text[1..],
            &format!("{text}A"),
            &format!("{text}="),
            "eyJhbGciOiJub25lIn0.e30.",
        ] {
            assert!(RefreshToken::parse(bad).is_none(), "{bad}");
        }
    }
}
