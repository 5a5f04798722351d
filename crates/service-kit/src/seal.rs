//! Sealed values: small secrets (hook URLs, signing keys, mails) encrypted before they reach a table
//! or the broker.
//!
//! The text form is `v1.KID.DATA`: `KID` names the key, so that a rotated key still opens what it
//! sealed, and `DATA` is base64url of nonce and AES-256-GCM ciphertext. The additional data binds a
//! value to its place: what was sealed for one project does not open for another.

use std::{fmt, sync::Arc};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use crate::crypto::hmac_sha256;

const VERSION: &str = "v1";

/// Seals with the current key and opens with the current and every old one. Cheap to clone.
#[derive(Clone)]
pub struct Sealer {
    current: Arc<NamedKey>,
    old: Arc<[NamedKey]>,
}

/// Why a value was not sealed or opened. Carries nothing of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Not of the form `v1.KID.DATA`.
    #[error("not a sealed value")]
    Malformed,
    /// Sealed with a key that is neither the current one nor among the old ones.
    #[error("sealed with the key {0}, which is not configured")]
    UnknownKey(String),
    /// Altered, or sealed for another place.
    #[error("the sealed value does not open here")]
    Rejected,
    /// The cipher refused; does not happen with keys of the right length.
    #[error("the cipher failed")]
    Cipher,
}

struct NamedKey {
    id: String,
    key: RandomizedNonceKey,
}

impl Sealer {
    /// A sealer that seals with `current` and also opens what the `old` keys sealed.
    pub fn new<'a>(
        current: &'a [u8; 32],
        old: impl IntoIterator<Item = &'a [u8; 32]>,
    ) -> Result<Self, SealError> {
        Ok(Self {
            current: Arc::new(NamedKey::new(current)?),
            old: old
                .into_iter()
                .map(NamedKey::new)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Seals `plain` for the place named by `aad` (for example `integration:42`).
    pub fn seal(&self, aad: &str, plain: &[u8]) -> Result<String, SealError> {
        let mut buffer = plain.to_vec();
        let nonce = self
            .current
            .key
            .seal_in_place_append_tag(Aad::from(aad.as_bytes()), &mut buffer)
            .map_err(|_| SealError::Cipher)?;
        let mut data = nonce.as_ref().to_vec();
        data.append(&mut buffer);
        Ok(format!(
            "{VERSION}.{}.{}",
            self.current.id,
            URL_SAFE_NO_PAD.encode(data)
        ))
    }

    /// Whether a value was sealed with the current key, as opposed to an old or another one.
    pub fn is_current(&self, sealed: &str) -> bool {
        let mut parts = sealed.splitn(3, '.');
        parts.next() == Some(VERSION) && parts.next() == Some(&self.current.id)
    }

    /// Opens what [`Sealer::seal`] made for the same `aad`.
    pub fn open(&self, aad: &str, sealed: &str) -> Result<SecretSlice<u8>, SealError> {
        let mut parts = sealed.splitn(3, '.');
        let (Some(VERSION), Some(id), Some(data)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(SealError::Malformed);
        };
        let key = std::iter::once(&*self.current)
            .chain(self.old.iter())
            .find(|key| key.id == id)
            .ok_or_else(|| SealError::UnknownKey(id.chars().take(16).collect()))?;
        let data = URL_SAFE_NO_PAD
            .decode(data)
            .map_err(|_| SealError::Malformed)?;
        let (nonce, ciphertext) = data
            .split_at_checked(NONCE_LEN)
            .ok_or(SealError::Malformed)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Malformed)?;
        let mut buffer = ciphertext.to_vec();
        let length = key
            .key
            .open_in_place(nonce, Aad::from(aad.as_bytes()), &mut buffer)
            .map_err(|_| SealError::Rejected)?
            .len();
        buffer.truncate(length);
        Ok(SecretSlice::from(buffer))
    }

    /// [`Sealer::open`] for a value that is text.
    pub fn open_text(&self, aad: &str, sealed: &str) -> Result<SecretString, SealError> {
        let bytes = self.open(aad, sealed)?;
        std::str::from_utf8(bytes.expose_secret())
            .map(SecretString::from)
            .map_err(|_| SealError::Malformed)
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("current", &self.current.id)
            .field(
                "old",
                &self.old.iter().map(|key| &key.id).collect::<Vec<_>>(),
            )
            .finish()
    }
}

impl NamedKey {
    fn new(bytes: &[u8; 32]) -> Result<Self, SealError> {
        // A MAC, not a plain hash of the key: the id is public and must say nothing about it.
        let tag = hmac_sha256(bytes, b"holdfast key id");
        let id = URL_SAFE_NO_PAD.encode(tag.get(..6).unwrap_or_default());
        let key = RandomizedNonceKey::new(&AES_256_GCM, bytes).map_err(|_| SealError::Cipher)?;
        Ok(Self { id, key })
    }
}

#[cfg(test)]
mod tests {
    use super::{SealError, Sealer};
    use secrecy::ExposeSecret;

    const SECRET: &str = "https://chat.example.com/hooks/T0/B0/xyz";

    #[test]
    fn a_sealed_value_opens_in_its_place_and_nowhere_else() {
        let sealer = Sealer::new(&[7; 32], []).unwrap();
        let sealed = sealer.seal("integration:1", SECRET.as_bytes()).unwrap();
        assert!(sealed.starts_with("v1.") && !sealed.contains("chat"));
        assert_ne!(
            sealed,
            sealer.seal("integration:1", SECRET.as_bytes()).unwrap()
        );
        let opened = sealer.open_text("integration:1", &sealed).unwrap();
        assert_eq!(opened.expose_secret(), SECRET);
        assert_eq!(
            sealer.open("integration:2", &sealed).unwrap_err(),
            SealError::Rejected
        );
    }

    #[test]
    fn an_old_key_still_opens_and_an_unknown_one_is_named() {
        let before = Sealer::new(&[1; 32], []).unwrap();
        let sealed = before.seal("a", b"x").unwrap();
        let after = Sealer::new(&[2; 32], [&[1; 32], &[3; 32]]).unwrap();
        assert_eq!(after.open("a", &sealed).unwrap().expose_secret(), b"x");
        assert!(before.is_current(&sealed) && !after.is_current(&sealed));
        assert!(!after.is_current("") && !after.is_current("v1.x"));
        let forgotten = Sealer::new(&[2; 32], []).unwrap();
        assert!(matches!(
            forgotten.open("a", &sealed),
            Err(SealError::UnknownKey(_))
        ));
    }

    #[test]
    fn altered_and_malformed_values_are_refused() {
        let sealer = Sealer::new(&[7; 32], []).unwrap();
        let sealed = sealer.seal("a", b"payload").unwrap();
        let flipped = match sealed.strip_suffix('A') {
            Some(head) => format!("{head}Q"),
            None => format!("{}A", sealed.get(..sealed.len() - 1).unwrap()),
        };
        assert!(sealer.open("a", &flipped).is_err());
        for bad in [
            "",
            "v1",
            "v1.x",
            "v2.a.b",
            "plain text",
            &sealed.replace("v1.", "v9."),
        ] {
            assert_eq!(
                sealer.open("a", bad).unwrap_err(),
                SealError::Malformed,
                "{bad}"
            );
        }
        let short = sealed
            .rsplit_once('.')
            .map(|(head, _)| format!("{head}.AAAA"))
            .unwrap();
        assert_eq!(sealer.open("a", &short).unwrap_err(), SealError::Malformed);
    }

    #[test]
    fn debug_shows_key_ids_only() {
        let text = format!("{:?}", Sealer::new(&[0x41; 32], [&[0x42; 32]]).unwrap());
        assert!(!text.contains("65, 65") && !text.contains("AAAA"), "{text}");
    }
}
