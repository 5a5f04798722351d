//! Sealed values: small secrets (webhook URLs, signing keys, mails) that are encrypted before they reach a table or the broker.
//!
//! The text form is `v2.KID.DATA`. `KID` names the configured key, so that a rotated key still opens what it sealed. `DATA` is
//! base64url of nonce and AES-256-GCM ciphertext. The cipher's key is derived for one [`Purpose`] (HKDF, RFC 5869), and the
//! additional data binds a value to its context: a value sealed for one purpose or project does not open for another. `v1` values
//! were sealed with the configured key itself, and still open.

use std::{fmt, sync::Arc};

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretSlice, SecretString};

use crate::config::SecretKey;
use crate::crypto::hmac_sha256;

const VERSION: &str = "v2";
const UNDIVIDED: &str = "v1";

/// What a value is sealed for. Each purpose has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The private halves of the keys that sign tokens.
    SigningKeys,
    /// The secrets of second factors.
    SecondFactors,
    /// Sign-ins that still need their second step.
    FirstSteps,
    /// CSRF tokens, and forms that are saved for the next sign-in.
    Forms,
    /// Sign-ins at the dashboard, and the state of those in progress.
    DashboardSignIns,
    /// Mails that are not sent yet.
    Mails,
    /// The recipient of the mail about an integration that is disabled.
    Contacts,
    /// The addresses of chats.
    Chats,
    /// The addresses of webhooks, and the secrets that sign their calls.
    Webhooks,
    /// Requests of one service to another about accounts and teams.
    Questions,
    /// Calls that tell OAuth clients of the end of their sessions.
    Logouts,
}

/// The configured keys, from which each part of a service gets those for its purposes.
#[derive(Debug, Clone)]
pub struct SealingKeys {
    current: SecretKey,
    old: Vec<SecretKey>,
}

/// The keys of one purpose: the current one seals, and the current and every old one open. Cheap to clone.
#[derive(Clone)]
pub struct Sealer {
    current: Arc<NamedKey>,
    old: Arc<[NamedKey]>,
}

/// Why a value was not sealed or opened. Contains nothing of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The text does not have the form `vN.KID.DATA` with a known version.
    #[error("not a sealed value")]
    Malformed,
    /// The value was sealed with a key that is neither the current one nor an old one.
    #[error("sealed with the key {0}, which is not configured")]
    UnknownKey(String),
    /// The value was altered, or sealed for another purpose or context.
    #[error("the sealed value does not open here")]
    Rejected,
    /// The cipher failed, which does not happen with keys of the right length.
    #[error("the cipher failed")]
    Cipher,
}

struct NamedKey {
    id: String,
    key: RandomizedNonceKey,
    /// Opens values that were sealed before keys were derived per purpose.
    undivided: RandomizedNonceKey,
}

impl Purpose {
    #[cfg(test)]
    const ALL: [Self; 11] = [
        Self::SigningKeys,
        Self::SecondFactors,
        Self::FirstSteps,
        Self::Forms,
        Self::DashboardSignIns,
        Self::Mails,
        Self::Contacts,
        Self::Chats,
        Self::Webhooks,
        Self::Questions,
        Self::Logouts,
    ];

    /// Returns the name of the key in its derivation (the info of HKDF). Another name results in another key.
    fn name(self) -> &'static str {
        match self {
            Self::SigningKeys => "signing-keys",
            Self::SecondFactors => "second-factors",
            Self::FirstSteps => "first-steps",
            Self::Forms => "forms",
            Self::DashboardSignIns => "dashboard-sign-ins",
            Self::Mails => "mails",
            Self::Contacts => "contacts",
            Self::Chats => "chats",
            Self::Webhooks => "webhooks",
            Self::Questions => "questions",
            Self::Logouts => "logouts",
        }
    }
}

impl SealingKeys {
    /// Creates keys that seal with `current`, and also open what the `old` ones sealed.
    #[must_use]
    pub fn new<'a>(current: &'a [u8; 32], old: impl IntoIterator<Item = &'a [u8; 32]>) -> Self {
        Self {
            current: SecretKey::new(*current),
            old: old.into_iter().copied().map(SecretKey::new).collect(),
        }
    }

    /// Derives the keys of one purpose.
    pub fn sealer(&self, purpose: Purpose) -> Result<Sealer, SealError> {
        let derive = |key: &SecretKey| NamedKey::new(key.expose(), purpose);
        Ok(Sealer {
            current: Arc::new(derive(&self.current)?),
            old: self.old.iter().map(derive).collect::<Result<_, _>>()?,
        })
    }
}

impl Sealer {
    /// Seals `plain` for the context `aad`, such as `integration:42`.
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

    /// Whether a value was sealed with the current key, derived for its purpose, as opposed to an old, an undivided or another
    /// one.
    pub fn is_current(&self, sealed: &str) -> bool {
        let mut parts = sealed.splitn(3, '.');
        parts.next() == Some(VERSION) && parts.next() == Some(&self.current.id)
    }

    /// Opens a value that [`Sealer::seal`] sealed for the same `aad`.
    pub fn open(&self, aad: &str, sealed: &str) -> Result<SecretSlice<u8>, SealError> {
        let mut parts = sealed.splitn(3, '.');
        let (Some(version @ (VERSION | UNDIVIDED)), Some(id), Some(data)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(SealError::Malformed);
        };
        let named = std::iter::once(&*self.current)
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
        let key = match version {
            UNDIVIDED => &named.undivided,
            _ => &named.key,
        };
        let length = key
            .open_in_place(nonce, Aad::from(aad.as_bytes()), &mut buffer)
            .map_err(|_| SealError::Rejected)?
            .len();
        buffer.truncate(length);
        Ok(SecretSlice::from(buffer))
    }

    /// Opens a value that is text; see [`Sealer::open`].
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
    fn new(bytes: &[u8; 32], purpose: Purpose) -> Result<Self, SealError> {
        // A MAC, not a plain hash of the key: the id is public and must reveal nothing about it.
        let tag = hmac_sha256(bytes, b"holdfast key id");
        let id = URL_SAFE_NO_PAD.encode(tag.get(..6).unwrap_or_default());
        let mut derived = Zeroizing::new([0; 32]);
        Salt::new(HKDF_SHA256, b"holdfast sealing")
            .extract(bytes)
            .expand(&[purpose.name().as_bytes()], HKDF_SHA256)
            .and_then(|okm| okm.fill(&mut *derived))
            .map_err(|_| SealError::Cipher)?;
        let cipher = |key: &[u8; 32]| {
            RandomizedNonceKey::new(&AES_256_GCM, key).map_err(|_| SealError::Cipher)
        };
        Ok(Self {
            id,
            key: cipher(&derived)?,
            undivided: cipher(bytes)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, SealError, Sealer, SealingKeys};
    use secrecy::ExposeSecret;

    /// [`SECRET`] as version 1 sealed it for `integration:1`, with a key of sevens.
    const OF_VERSION_1: &str = "v1.qr-qwqKU.AAECAwQFBgcICQoLcPWdAG4z9mYU2oTozD0Um4xM2us2ARhcOaYM1eWkQlHuQATSuLdIhwYoge6MsivAEIY96loPA9E";
    const SECRET: &str = "https://chat.example.com/hooks/T0/B0/xyz";

    fn sealer(key: u8, old: &[[u8; 32]]) -> Sealer {
        let keys = SealingKeys::new(&[key; 32], old);
        keys.sealer(Purpose::Chats).unwrap()
    }

    #[test]
    fn what_is_sealed_for_one_purpose_opens_for_no_other() {
        let keys = SealingKeys::new(&[7; 32], []);
        let sealers = Purpose::ALL.map(|purpose| keys.sealer(purpose).unwrap());
        for (at, sealer) in sealers.iter().enumerate() {
            let sealed = sealer.seal("integration:1", SECRET.as_bytes()).unwrap();
            // The undivided key does not open it either.
            let forged = sealed.replacen("v2", "v1", 1);
            for (other_at, other) in sealers.iter().enumerate() {
                let opened = other.open("integration:1", &sealed);
                assert_eq!(opened.is_ok(), at == other_at);
                let refused = other.open("integration:1", &forged);
                assert_eq!(refused.unwrap_err(), SealError::Rejected);
            }
        }
    }

    #[test]
    fn what_version_1_has_sealed_opens_and_is_to_be_sealed_anew() {
        let sealer = sealer(7, &[]);
        let opened = sealer.open_text("integration:1", OF_VERSION_1).unwrap();
        assert_eq!(opened.expose_secret(), SECRET);
        assert!(!sealer.is_current(OF_VERSION_1));
        assert_eq!(
            sealer.open("integration:2", OF_VERSION_1).unwrap_err(),
            SealError::Rejected
        );
    }

    #[test]
    fn a_sealed_value_opens_in_its_place_and_nowhere_else() {
        let sealer = sealer(7, &[]);
        let sealed = sealer.seal("integration:1", SECRET.as_bytes()).unwrap();
        assert!(sealed.starts_with("v2.") && !sealed.contains("chat"));
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
        let before = sealer(1, &[]);
        let sealed = before.seal("a", b"x").unwrap();
        let after = sealer(2, &[[1; 32], [3; 32]]);
        assert_eq!(after.open("a", &sealed).unwrap().expose_secret(), b"x");
        assert!(before.is_current(&sealed) && !after.is_current(&sealed));
        assert!(!after.is_current("") && !after.is_current("v2.x"));
        let forgotten = sealer(2, &[]);
        assert!(matches!(
            forgotten.open("a", &sealed),
            Err(SealError::UnknownKey(_))
        ));
    }

    #[test]
    fn altered_and_malformed_values_are_refused() {
        let sealer = sealer(7, &[]);
        let sealed = sealer.seal("a", b"payload").unwrap();
        let flipped = match sealed.strip_suffix('A') {
            Some(head) => format!("{head}Q"),
            None => format!("{}A", sealed.get(..sealed.len() - 1).unwrap()),
        };
        assert!(sealer.open("a", &flipped).is_err());
        for bad in [
            "",
            "v2",
            "v2.x",
            "v3.a.b",
            "plain text",
            &sealed.replace("v2.", "v9."),
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
        let text = format!(
            "{:?} {:?}",
            sealer(0x41, &[[0x42; 32]]),
            SealingKeys::new(&[0x41; 32], [])
        );
        assert!(!text.contains("65, 65") && !text.contains("AAAA"), "{text}");
    }
}
