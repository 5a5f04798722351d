//! The primitives that the services use directly, all from one library: SHA-256, HMAC-SHA-256 and the operating system's
//! randomness. [`crate::seal`] encrypts data at rest.

use aws_lc_rs::{digest, hmac, rand};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::SecretString;

/// Returns the SHA-256 of `data`.
pub fn sha256(data: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest::digest(&digest::SHA256, data).as_ref());
    out
}

/// Returns the HMAC-SHA-256 of `data` under `key`.
pub fn hmac_sha256(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    out.copy_from_slice(hmac::sign(&key, data).as_ref());
    out
}

/// Returns `N` bytes from the operating system's random generator.
///
/// Aborts the process if there is no randomness: every token created after that would be worthless.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    if rand::fill(&mut out).is_err() {
        log::error!("the operating system provides no random bytes");
        std::process::abort();
    }
    out
}

/// Returns an opaque token of 256 random bits, in base64url without padding (43 characters).
pub fn random_token() -> SecretString {
    SecretString::from(URL_SAFE_NO_PAD.encode(random_bytes::<32>()))
}

#[cfg(test)]
mod tests {
    use super::{hmac_sha256, random_bytes, random_token, sha256};
    use secrecy::ExposeSecret;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sha256_and_hmac_agree_with_published_vectors() {
        // FIPS 180-2 appendix B.1 and RFC 4231 test case 2.
        assert_eq!(
            hex(&sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(
            hex(&hmac_sha256(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn random_values_differ_and_tokens_are_43_characters() {
        assert_ne!(random_bytes::<16>(), random_bytes::<16>());
        assert_eq!(random_token().expose_secret().len(), 43);
    }
}
