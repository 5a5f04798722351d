//! The keys that sign tokens. The database stores them sealed, so that every replica signs and verifies with the same
//! ones; each process caches them parsed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono::NaiveDateTime;
use db_kit::{DbError, Pool};
use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{DecodingKey, EncodingKey};
use prometheus::{IntCounter, Opts};
use secrecy::ExposeSecret as _;
use service_kit::Clock;
use service_kit::seal::Sealer;
use tokio::time::Instant;

use super::algorithm::SigningAlgorithm;
use super::key_ring::{self, KeyRing, SigningKey, place};
use super::queries::{self, NewSigningKey, SigningKeyRow};
use crate::change_feed::{self, ChangeSubject, IdentityCache};
use crate::error::Error;

/// The maximum age of the keys while the change feed is down.
const READ_AGAIN_AFTER: Duration = Duration::from_millis(200);
/// The minimum interval between reads of the database for tokens with an unknown key id.
const UNKNOWN_KEYS_EVERY: Duration = Duration::from_millis(200);

/// The keys of one algorithm that this process has loaded.
pub(crate) struct KeyStore {
    algorithm: SigningAlgorithm,
    pool: Pool,
    clock: Clock,
    sealer: Sealer,
    cache: Arc<IdentityCache>,
    /// Lifetime of the tokens that this process signs, in seconds.
    ttl_seconds: i64,
    ring: RwLock<Arc<KeyRing>>,
    /// How many reads of the table have begun.
    begun: AtomicU64,
    readings: tokio::sync::Mutex<Readings>,
    reads: IntCounter,
}

/// The progress of reads, for callers that wait for one.
#[derive(Default)]
struct Readings {
    last_begun_at: Option<Instant>,
    /// Number of the last read that failed.
    failed: u64,
}

/// A generated key that is not stored yet.
pub(crate) struct FreshKey {
    pub(crate) kid: String,
    algorithm: SigningAlgorithm,
    private_key_sealed: String,
    public_jwk: String,
    ttl_seconds: i64,
}

impl KeyStore {
    /// Creates an empty store, which loads the keys at its first use.
    pub(crate) fn new(
        algorithm: SigningAlgorithm,
        pool: Pool,
        clock: Clock,
        sealer: Sealer,
        cache: Arc<IdentityCache>,
        ttl: chrono::Duration,
    ) -> Result<Self, prometheus::Error> {
        let reads = IntCounter::with_opts(
            Opts::new(
                "signing_key_reads_total",
                "Reads of the signing keys from the database",
            )
            .const_label("algorithm", algorithm.as_str()),
        )?;
        Ok(Self {
            algorithm,
            pool,
            clock,
            sealer,
            cache,
            ttl_seconds: ttl.num_seconds(),
            ring: RwLock::default(),
            begun: AtomicU64::new(0),
            readings: tokio::sync::Mutex::default(),
            reads,
        })
    }

    pub(crate) fn reads(&self) -> &IntCounter {
        &self.reads
    }

    /// Returns the key for new tokens, and creates one if there is none.
    pub(crate) async fn signing_key(&self) -> Result<Arc<SigningKey>, Error> {
        let now = self.clock.now_naive();
        let ring = self.current().await?;
        if let Some(key) = ring.signing(now) {
            return key;
        }
        let ring = self.read_after(self.next_reading(), Duration::ZERO).await?;
        if let Some(key) = ring.signing(now) {
            return key;
        }
        self.make_first(ring.newest_generation + 1).await?;
        let ring = self.read_after(self.next_reading(), Duration::ZERO).await?;
        ring.signing(now)
            .unwrap_or_else(|| Err(Error::Internal("no signing key could be created".into())))
    }

    /// Returns the keys for publication. It creates the first one if there is none, because callers may cache the keys before a
    /// client needs one of this algorithm.
    pub(crate) async fn published(&self) -> Result<Arc<KeyRing>, Error> {
        let ring = self.current().await?;
        if !ring.public.is_empty() {
            return Ok(ring);
        }
        self.signing_key().await?;
        self.current().await
    }

    /// Returns the key with this id. Another replica may have just created it, so an unknown id causes a read before the
    /// token is refused. One read serves all waiting callers, and unknown ids cause at most one every 200 ms.
    pub(crate) async fn verifying_key(&self, kid: &str) -> Result<Option<Arc<DecodingKey>>, Error> {
        let wanted = self.next_reading();
        let ring = self.current().await?;
        if let Some(key) = ring.verifying.get(kid) {
            return Ok(Some(Arc::clone(key)));
        }
        let ring = self.read_after(wanted, UNKNOWN_KEYS_EVERY).await?;
        Ok(ring.verifying.get(kid).cloned())
    }

    /// Returns the keys. It reads them again if the change feed reports a change, or after 200 ms while the feed is down.
    pub(crate) async fn current(&self) -> Result<Arc<KeyRing>, Error> {
        let ring = self.ring();
        if self.is_current(&ring) {
            return Ok(ring);
        }
        let is_current = |ring: &KeyRing| self.is_current(ring);
        self.read_unless(is_current, self.next_reading(), Duration::ZERO)
            .await
    }

    fn is_current(&self, ring: &KeyRing) -> bool {
        ring.generation == self.generation()
            && ring.read_at.is_some_and(|read_at| {
                self.cache.is_current() || read_at.elapsed() < READ_AGAIN_AFTER
            })
    }

    /// Returns a number that grows with each key change that this process learns of.
    pub(crate) fn generation(&self) -> u64 {
        self.cache.keys_generation()
    }

    /// Generates a key, sealed for its row in the database. An RSA key takes a good part of a second.
    pub(crate) async fn generate(&self) -> Result<FreshKey, Error> {
        let (algorithm, ttl_seconds) = (self.algorithm, self.ttl_seconds);
        let key = tokio::task::spawn_blocking(move || algorithm.generate())
            .await
            .map_err(|error| Error::internal("creating a signing key", error))??;
        let (kid, public_jwk) = public_half(&key, algorithm)
            .map_err(|error| Error::internal("creating a signing key", error))?;
        let private_key_sealed = self
            .sealer
            .seal(&place(&kid), key.as_bytes())
            .map_err(|error| Error::internal("sealing a signing key", error))?;
        Ok(FreshKey {
            kid,
            algorithm,
            private_key_sealed,
            public_jwk,
            ttl_seconds,
        })
    }

    /// Whether this process can open the private half of a stored key.
    pub(crate) fn opens(&self, row: &SigningKeyRow) -> bool {
        self.sealer
            .open(&place(&row.kid), &row.private_key_sealed)
            .is_ok()
    }

    /// Seals the private half of a stored key with the current encryption key. `None` if it already is.
    pub(crate) fn reseal(&self, row: &SigningKeyRow) -> Result<Option<String>, Error> {
        if self.sealer.is_current(&row.private_key_sealed) {
            return Ok(None);
        }
        let key = key_ring::open(row, &self.sealer).map_err(Error::Internal)?;
        self.sealer
            .seal(&place(&row.kid), key.expose_secret())
            .map(Some)
            .map_err(|error| Error::internal("sealing a signing key", error))
    }

    fn ring(&self) -> Arc<KeyRing> {
        Arc::clone(&self.ring.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of the next read to begin. A read in progress may have queried the table before the key of the
    /// caller's token was written.
    fn next_reading(&self) -> u64 {
        self.begun.load(Ordering::Acquire) + 1
    }

    /// Returns the result of read `wanted` or a later one. The first caller reads for all that wait, no sooner than
    /// `pause` after the previous read.
    async fn read_after(&self, wanted: u64, pause: Duration) -> Result<Arc<KeyRing>, Error> {
        self.read_unless(|_| false, wanted, pause).await
    }

    /// As [`Self::read_after`], but returns the loaded keys if they satisfy `enough` by then.
    async fn read_unless(
        &self,
        enough: impl Fn(&KeyRing) -> bool,
        wanted: u64,
        pause: Duration,
    ) -> Result<Arc<KeyRing>, Error> {
        loop {
            let mut readings = self.readings.lock().await;
            let ring = self.ring();
            if ring.reading >= wanted || enough(&ring) {
                return Ok(ring);
            }
            if readings.failed >= wanted {
                let sentence = "the signing keys could not be read".to_owned();
                return Err(DbError::Unreachable(sentence).into());
            }
            let now = Instant::now();
            let due = readings.last_begun_at.map_or(now, |last| last + pause);
            if due <= now {
                readings.last_begun_at = Some(now);
                let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
                let outcome = self.read(number).await;
                if outcome.is_err() {
                    readings.failed = number;
                }
                return outcome;
            }
            drop(readings);
            tokio::time::sleep_until(due).await;
        }
    }

    async fn read(&self, number: u64) -> Result<Arc<KeyRing>, Error> {
        self.reads.inc();
        let (generation, read_at) = (self.generation(), Instant::now());
        let algorithm = self.algorithm;
        let rows = self
            .pool
            .read(move |db| Ok::<_, Error>(queries::list_keys(db, algorithm)?))
            .await?;
        self.keep_long_enough(&rows).await?;
        let mut ring = KeyRing::parse(&rows, algorithm, &self.sealer)?;
        (ring.reading, ring.generation) = (number, generation);
        ring.read_at = Some(read_at);
        let ring = Arc::new(ring);
        *self.ring.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&ring);
        Ok(ring)
    }

    /// Ensures, before anything is signed, that the keys are kept for the lifetime of this process's tokens. A process
    /// with a shorter lifetime may have created them.
    async fn keep_long_enough(&self, rows: &[SigningKeyRow]) -> Result<(), Error> {
        let (algorithm, ttl_seconds) = (self.algorithm, self.ttl_seconds);
        let mut signing = rows.iter().filter(|row| row.can_sign());
        if signing.all(|row| row.longest_ttl_seconds >= ttl_seconds) {
            return Ok(());
        }
        self.pool
            .write_one(move |db| Ok::<_, Error>(queries::raise_ttl(db, algorithm, ttl_seconds)?))
            .await
    }

    /// Creates a key when there is none that signs. Replicas that start together all try: the unique constraint admits
    /// one key, which all of them read. Those that have already read the table learn of it from the change feed.
    async fn make_first(&self, generation: i64) -> Result<(), Error> {
        let key = self.generate().await?;
        let now = self.clock.now_naive();
        self.pool
            .write_tx(move |db| {
                if queries::insert_key(db, &key.row(generation, now, now))? {
                    change_feed::queries::record(db, &[ChangeSubject::Keys])?;
                }
                Ok::<_, Error>(())
            })
            .await
    }
}

impl FreshKey {
    /// Returns the row of this key as the `generation`th of its algorithm.
    pub(crate) fn row(
        &self,
        generation: i64,
        now: NaiveDateTime,
        signs_from: NaiveDateTime,
    ) -> NewSigningKey {
        NewSigningKey {
            kid: self.kid.clone(),
            algorithm: self.algorithm.as_str(),
            generation,
            private_key_sealed: self.private_key_sealed.clone(),
            public_jwk: self.public_jwk.clone(),
            created_at: now,
            longest_ttl_seconds: self.ttl_seconds,
            signs_from,
        }
    }
}

/// Returns the key id (RFC 7638 thumbprint) and the public JWK as it appears in the JWKS.
fn public_half(
    key: &EncodingKey,
    algorithm: SigningAlgorithm,
) -> Result<(String, String), Box<dyn std::error::Error>> {
    let mut jwk = Jwk::from_encoding_key(key, algorithm.jwt())?;
    let kid = jwk.thumbprint(ThumbprintHash::SHA256)?;
    jwk.common.key_id = Some(kid.clone());
    jwk.common.key_algorithm = Some(KeyAlgorithm::from(algorithm.jwt()));
    jwk.common.public_key_use = Some(PublicKeyUse::Signature);
    Ok((kid, serde_json::to_string(&jwk)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use service_kit::crypto::random_bytes;
    use service_kit::seal::{Purpose, SealingKeys};
    use test_kit::{TestDb, wait_until};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_key_removed_while_the_change_feed_is_down_is_soon_unknown() {
        let db = TestDb::fresh("keys", crate::MIGRATIONS).await;
        let pool = db.pool(2);
        // No change feed updates it.
        let cache = Arc::new(IdentityCache::new(true));
        let store = KeyStore::new(
            SigningAlgorithm::Es256,
            pool.clone(),
            Clock::system(),
            SealingKeys::new(&random_bytes::<32>(), [])
                .sealer(Purpose::SigningKeys)
                .unwrap(),
            cache,
            chrono::Duration::days(30),
        )
        .unwrap();
        let kid = store.signing_key().await.unwrap().kid.clone();
        assert!(store.verifying_key(&kid).await.unwrap().is_some());
        let gone = kid.clone();
        pool.write_tx(move |db| {
            let long_ago = NaiveDateTime::default();
            queries::retire_older(db, SigningAlgorithm::Es256, i64::MAX, long_ago)?;
            assert!(queries::remove_retired(db, &gone, long_ago)?);
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
        wait_until(
            "the key to be unknown",
            Duration::from_secs(20),
            async || {
                let known = store.verifying_key(&kid).await.unwrap().is_some();
                (!known).then_some(())
            },
        )
        .await;
    }
}
