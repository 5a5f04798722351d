use std::collections::HashMap;
use std::sync::Arc;

use chrono::NaiveDateTime;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{DecodingKey, EncodingKey};
use secrecy::{ExposeSecret as _, SecretSlice};
use serde_json::Value;
use service_kit::seal::Sealer;
use tokio::time::Instant;

use super::algorithm::SigningAlgorithm;
use super::queries::SigningKeyRow;
use crate::error::Error;

#[derive(Default)]
pub(crate) struct KeyRing {
    pub(super) reading: u64,
    pub(super) read_at: Option<Instant>,
    /// The number of key changes before the read.
    pub(super) generation: u64,
    /// The private halves, newest first, each with the time from which it signs, or with the reason why it does not open.
    /// Tokens that it has signed are verified even then.
    private: Vec<(NaiveDateTime, Result<Arc<SigningKey>, String>)>,
    pub(super) newest_generation: i64,
    pub(super) verifying: HashMap<String, Arc<DecodingKey>>,
    /// The public halves as JWKs (RFC 7517 section 4), newest first.
    pub(super) public: Vec<Value>,
}

/// The key that signs new tokens.
pub(crate) struct SigningKey {
    pub(crate) kid: String,
    pub(crate) key: EncodingKey,
}

impl KeyRing {
    pub(super) fn parse(
        rows: &[SigningKeyRow],
        algorithm: SigningAlgorithm,
        sealer: &Sealer,
    ) -> Result<Self, Error> {
        let mut ring = Self::default();
        for row in rows {
            ring.newest_generation = ring.newest_generation.max(row.generation);
            if row.can_sign() {
                let key = open(row, sealer).map(|der| SigningKey {
                    kid: row.kid.clone(),
                    key: algorithm.read(der.expose_secret()),
                });
                ring.private.push((row.signs_from, key.map(Arc::new)));
            }
            let unreadable = |error| Error::internal("signing_keys.public_jwk", error);
            let public: Value = serde_json::from_str(&row.public_jwk).map_err(unreadable)?;
            let jwk: Jwk = serde_json::from_str(&row.public_jwk).map_err(unreadable)?;
            let key = DecodingKey::from_jwk(&jwk)
                .map_err(|error| Error::internal("signing_keys.public_jwk", error))?;
            ring.public.push(public);
            ring.verifying.insert(row.kid.clone(), Arc::new(key));
        }
        Ok(ring)
    }

    /// Returns the key for new tokens, if there is one: the newest whose time has come. If a process with a fast clock
    /// has erased all of those, it is the one whose time comes next.
    pub(super) fn signing(&self, now: NaiveDateTime) -> Option<Result<Arc<SigningKey>, Error>> {
        let due = self.private.iter().find(|(from, _)| *from <= now);
        let (_, key) = due.or_else(|| self.private.last())?;
        Some(key.clone().map_err(Error::Internal))
    }
}

/// Opens the private half of a stored key.
pub(super) fn open(row: &SigningKeyRow, sealer: &Sealer) -> Result<SecretSlice<u8>, String> {
    sealer
        .open(&place(&row.kid), &row.private_key_sealed)
        .map_err(|error| {
            format!(
                "the signing key cannot be opened with IDENTITY__KEYS__ENCRYPTION_KEY or one of …_KEYS_OLD ({error}); \
                 if that key is lost, `admin keys rotate --lost-key` creates a new one"
            )
        })
}

/// Returns the context that binds a sealed key to its row: it does not open in another one.
pub(super) fn place(kid: &str) -> String {
    format!("signing-key:{kid}")
}
