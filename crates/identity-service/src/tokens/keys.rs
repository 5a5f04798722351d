//! The keys that access tokens are signed with: kept sealed in the database, so that every replica
//! signs and verifies with the same ones, and parsed in memory.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use db_kit::Pool;
use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use secrecy::ExposeSecret as _;
use service_kit::Clock;
use service_kit::seal::Sealer;

use super::queries::{self, NewSigningKey, SigningKeyRow};
use crate::error::Error;

const ALGORITHM: &str = "ES256";

/// The keys known to this process.
pub(crate) struct KeyStore {
    pool: Pool,
    clock: Clock,
    sealer: Sealer,
    ring: RwLock<Arc<KeyRing>>,
}

/// Keys of one moment.
#[derive(Default)]
pub(crate) struct KeyRing {
    signing: Option<Arc<SigningKey>>,
    newest_generation: i64,
    verifying: HashMap<String, Arc<DecodingKey>>,
}

/// The key that new tokens are signed with.
pub(crate) struct SigningKey {
    pub(crate) kid: String,
    pub(crate) key: EncodingKey,
}

impl KeyStore {
    /// A store that knows no key yet; the first use reads them.
    pub(crate) fn new(pool: Pool, clock: Clock, sealer: Sealer) -> Self {
        Self {
            pool,
            clock,
            sealer,
            ring: RwLock::default(),
        }
    }

    /// The key for new tokens, made when the installation has none.
    pub(crate) async fn signing_key(&self) -> Result<Arc<SigningKey>, Error> {
        if let Some(key) = &self.ring().signing {
            return Ok(Arc::clone(key));
        }
        let ring = self.reload().await?;
        if let Some(key) = &ring.signing {
            return Ok(Arc::clone(key));
        }
        self.make_key(ring.newest_generation + 1).await?;
        let ring = self.reload().await?;
        ring.signing
            .clone()
            .ok_or_else(|| Error::Internal("no signing key could be made".into()))
    }

    /// The key with this id. One that is not in memory may have been made by another replica a moment
    /// ago, so the database is asked before the token is refused.
    pub(crate) async fn verifying_key(&self, kid: &str) -> Result<Option<Arc<DecodingKey>>, Error> {
        if let Some(key) = self.ring().verifying.get(kid) {
            return Ok(Some(Arc::clone(key)));
        }
        Ok(self.reload().await?.verifying.get(kid).cloned())
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn reload(&self) -> Result<Arc<KeyRing>, Error> {
        let rows = self
            .pool
            .read(|db| Ok::<_, Error>(queries::list_keys(db, ALGORITHM)?))
            .await?;
        let ring = Arc::new(self.parse(&rows)?);
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&ring);
        Ok(ring)
    }

    fn parse(&self, rows: &[SigningKeyRow]) -> Result<KeyRing, Error> {
        let mut ring = KeyRing::default();
        for row in rows {
            ring.newest_generation = ring.newest_generation.max(row.generation);
            if ring.signing.is_none() && row.retired_at.is_none() {
                let pkcs8 = self
                    .sealer
                    .open(&place(&row.kid), &row.private_key_sealed)
                    .map_err(|error| {
                        Error::internal(
                            "a signing key does not open with IDENTITY__KEYS__ENCRYPTION_KEY",
                            error,
                        )
                    })?;
                let key = EncodingKey::from_ec_der(pkcs8.expose_secret());
                ring.signing = Some(Arc::new(SigningKey {
                    kid: row.kid.clone(),
                    key,
                }));
            }
            let jwk: Jwk = serde_json::from_str(&row.public_jwk)
                .map_err(|error| Error::internal("signing_keys.public_jwk", error))?;
            let key = DecodingKey::from_jwk(&jwk)
                .map_err(|error| Error::internal("signing_keys.public_jwk", error))?;
            ring.verifying.insert(row.kid.clone(), Arc::new(key));
        }
        Ok(ring)
    }

    /// Makes a key where there is none to sign with. Replicas that start together all try; the unique constraint lets one in
    /// and the others read that one.
    async fn make_key(&self, generation: i64) -> Result<(), Error> {
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new())
                .map_err(|error| Error::internal("making a signing key", error))?;
        let (kid, public_jwk) = public_half(&EncodingKey::from_ec_der(pkcs8.as_ref()))
            .map_err(|error| Error::internal("making a signing key", error))?;
        let private_key_sealed = self
            .sealer
            .seal(&place(&kid), pkcs8.as_ref())
            .map_err(|error| Error::internal("sealing a signing key", error))?;
        let created_at = self.clock.now_naive();
        self.pool
            .write_one(move |db| {
                let key = NewSigningKey {
                    kid: &kid,
                    algorithm: ALGORITHM,
                    generation,
                    private_key_sealed: &private_key_sealed,
                    public_jwk: &public_jwk,
                    created_at,
                };
                Ok::<_, Error>(queries::insert_key(db, &key)?)
            })
            .await
    }
}

/// The key's id (RFC 7638 thumbprint) and the public JWK as it will stand in the JWKS.
fn public_half(key: &EncodingKey) -> Result<(String, String), Box<dyn std::error::Error>> {
    let mut jwk = Jwk::from_encoding_key(key, Algorithm::ES256)?;
    let kid = jwk.thumbprint(ThumbprintHash::SHA256)?;
    jwk.common.key_id = Some(kid.clone());
    jwk.common.key_algorithm = Some(KeyAlgorithm::ES256);
    jwk.common.public_key_use = Some(PublicKeyUse::Signature);
    Ok((kid, serde_json::to_string(&jwk)?))
}

/// What the sealed key is bound to: moved to another row it does not open.
fn place(kid: &str) -> String {
    format!("signing-key:{kid}")
}
