//! Proof Key for Code Exchange (RFC 7636): the client that redeems a code proves that it requested the code.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::crypto::sha256;

/// How a code challenge is derived from its verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChallengeMethod {
    S256,
    Plain,
}

/// The code challenge of an authorization request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeChallenge {
    text: String,
    method: ChallengeMethod,
}

impl CodeChallenge {
    /// Parses the two parameters of an authorization request. The error says which rule is broken.
    pub(crate) fn parse(
        challenge: Option<&str>,
        method: Option<&str>,
        allow_plain: bool,
    ) -> Result<Option<Self>, &'static str> {
        let Some(text) = challenge else {
            return match method {
                None => Ok(None),
                Some(_) => Err("code_challenge_method requires code_challenge"),
            };
        };
        // RFC 7636 section 4.3: the default is `plain`.
        let method = match method {
            Some("S256") => ChallengeMethod::S256,
            None | Some("plain") if allow_plain => ChallengeMethod::Plain,
            None | Some("plain") => return Err("code_challenge_method must be S256"),
            Some(_) => return Err("code_challenge_method must be S256 or plain"),
        };
        if !is_well_formed(text) {
            return Err("code_challenge must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~");
        }
        let text = text.to_owned();
        Ok(Some(Self { text, method }))
    }

    /// Restores a stored challenge. Returns `None` for an unknown method.
    pub(crate) fn stored(text: String, method: &str) -> Option<Self> {
        let method = match method {
            "S256" => ChallengeMethod::S256,
            "plain" => ChallengeMethod::Plain,
            _ => return None,
        };
        Some(Self { text, method })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name on the wire and in the database.
    pub(crate) fn method(&self) -> &'static str {
        match self.method {
            ChallengeMethod::S256 => "S256",
            ChallengeMethod::Plain => "plain",
        }
    }

    /// Whether the challenge is a hash, from which nobody can read the verifier.
    pub(crate) fn is_s256(&self) -> bool {
        self.method == ChallengeMethod::S256
    }

    /// Whether the challenge was derived from this verifier.
    pub(crate) fn is_met_by(&self, verifier: &str) -> bool {
        let made = match self.method {
            ChallengeMethod::S256 => URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes())),
            ChallengeMethod::Plain => verifier.to_owned(),
        };
        verify_slices_are_equal(made.as_bytes(), self.text.as_bytes()).is_ok()
    }
}

/// Whether a text has the syntax of verifiers and challenges (RFC 7636 sections 4.1 and 4.2).
pub(crate) fn is_well_formed(text: &str) -> bool {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 7636 appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_published_challenge_is_met_only_by_its_verifier() {
        let challenge = CodeChallenge::parse(Some(CHALLENGE), Some("S256"), false)
            .unwrap()
            .unwrap();
        assert!(challenge.is_met_by(VERIFIER));
        assert!(!challenge.is_met_by(CHALLENGE));
        assert!(!challenge.is_met_by(&VERIFIER.to_lowercase()));
    }

    #[test]
    fn a_missing_method_means_plain_where_plain_is_allowed() {
        let plain = CodeChallenge::parse(Some(VERIFIER), None, true)
            .unwrap()
            .unwrap();
        assert_eq!(plain.method(), "plain");
        assert!(plain.is_met_by(VERIFIER));
        for method in [None, Some("plain")] {
            assert!(CodeChallenge::parse(Some(VERIFIER), method, false).is_err());
        }
    }

    #[test]
    fn malformed_challenges_and_methods_are_refused() {
        let short = "a".repeat(42);
        let long = "a".repeat(129);
        let padded = format!("{}=", "a".repeat(43));
        for text in [short.as_str(), &long, &padded, "", &" ".repeat(50)] {
            assert!(
                CodeChallenge::parse(Some(text), Some("S256"), true).is_err(),
                "{text}"
            );
        }
        for method in ["s256", "S512", "none", ""] {
            assert!(
                CodeChallenge::parse(Some(CHALLENGE), Some(method), true).is_err(),
                "{method}"
            );
        }
        assert!(CodeChallenge::parse(None, Some("S256"), true).is_err());
        assert_eq!(CodeChallenge::parse(None, None, true), Ok(None));
    }

    proptest! {
        #[test]
        fn a_challenge_is_met_only_by_its_own_verifier(
            verifier in "[A-Za-z0-9._~-]{43,128}",
            other in "[A-Za-z0-9._~-]{43,128}",
        ) {
            prop_assume!(verifier != other);
            let hashed = URL_SAFE_NO_PAD.encode(sha256(verifier.as_bytes()));
            let given = [(hashed.as_str(), "S256"), (verifier.as_str(), "plain")];
            for (text, method) in given {
                let challenge = CodeChallenge::parse(Some(text), Some(method), true).unwrap().unwrap();
                prop_assert!(challenge.is_met_by(&verifier));
                prop_assert!(!challenge.is_met_by(&other));
                let stored = CodeChallenge::stored(text.to_owned(), method).unwrap();
                prop_assert_eq!(stored, challenge);
            }
        }
    }
}
