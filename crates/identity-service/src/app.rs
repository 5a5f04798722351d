//! The state that all requests of the service share.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use actix_web::HttpRequest;
use actix_web::web::Data;
use broker::RelayHandle;
use chrono::{Duration, NaiveDateTime};
use db_kit::{Db, Pool};
use diesel::QueryResult;
use service_kit::Clock;
use service_kit::config::{CommaList, SecretKey};
use service_kit::crypto::hmac_sha256;
use service_kit::http::BodyBudget;
use service_kit::seal::{Purpose, SealError, Sealer, SealingKeys};
use service_kit::start::StartError;
use tokio::sync::Mutex;

use crate::allowed_origins::OriginAllowList;
use crate::change_feed::IdentityCache;
use crate::config::{Config, PremiumConfig, TeamsConfig};
use crate::cookies::Cookies;
use crate::error::Error;
use crate::passwords::PasswordHasher;
use crate::photos::processor::PhotoProcessor;
use crate::rate_limits::RateLimits;
use crate::sessions::queries::RefreshBatcher;
use crate::token_access::COOKIE_LIFE;
use crate::tokens::SigningAlgorithm;
use crate::tokens::access_token::AccessTokens;
use crate::tokens::key_store::KeyStore;

/// How long an ID token is valid. It only describes one sign-in and grants no access; clients read it once.
pub(crate) const ID_TOKEN_LIFE: Duration = Duration::hours(1);
/// How long a retired key verifies at least. ID tokens are hints for as long as the sign-in of a browser lasts, and the
/// last logout tokens are valid a day after they were signed.
const KEYS_KEPT: Duration = COOKIE_LIFE;

/// The encryption keys, from the configuration or the data directory.
pub(crate) struct Secrets {
    /// Seals signing keys, second factors, and the state that browsers carry.
    pub(crate) own: SecretKey,
    /// Seals mails and requests between services; the other services have the same key.
    pub(crate) shared: SecretKey,
}

/// One sealer for each kind of secret except signing keys.
pub(crate) struct Sealers {
    /// The notifier has the same key.
    pub(crate) mails: Sealer,
    /// The notifier has the same key.
    pub(crate) logouts: Sealer,
    /// The work-session service has the same key.
    pub(crate) questions: Sealer,
    pub(crate) second_factors: Sealer,
    pub(crate) first_steps: Sealer,
    pub(crate) forms: Sealer,
}

impl Sealers {
    fn new(own: &SealingKeys, shared: &SealingKeys) -> Result<Self, SealError> {
        Ok(Self {
            mails: shared.sealer(Purpose::Mails)?,
            logouts: shared.sealer(Purpose::Logouts)?,
            questions: shared.sealer(Purpose::Questions)?,
            second_factors: own.sealer(Purpose::SecondFactors)?,
            first_steps: own.sealer(Purpose::FirstSteps)?,
            forms: own.sealer(Purpose::Forms)?,
        })
    }
}

pub(crate) struct App {
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) passwords: PasswordHasher,
    pub(crate) refreshes: RefreshBatcher,
    pub(crate) tokens: AccessTokens,
    /// The RS256 keys, for ID tokens of clients that ask for them. Access tokens use the keys in `tokens`.
    rsa_keys: KeyStore,
    /// Cached rows, valid while the change feed is alive.
    pub(crate) cache: Arc<IdentityCache>,
    /// Wakes the relay when there are events to publish. Commands have none; the running service publishes their events.
    pub(crate) relay: OnceLock<RelayHandle>,
    pub(crate) sealers: Sealers,
    /// The public address, without a trailing slash.
    pub(crate) base_url: Arc<str>,
    /// The key from which successors of refresh tokens are derived. Replicas share it, because they share the
    /// encryption key that it comes from.
    pub(crate) successor_key: [u8; 32],
    pub(crate) cookies: Cookies,
    pub(crate) rate_limits: RateLimits,
    pub(crate) allow_plain_pkce: bool,
    pub(crate) require_pkce_s256: bool,
    pub(crate) require_admin_totp: bool,
    pub(crate) premium: PremiumConfig,
    pub(crate) teams: TeamsConfig,
    /// The origins to which browsers may be redirected.
    pub(crate) redirects: OriginAllowList,
    /// The memory budget for request bodies.
    pub(crate) bodies: BodyBudget,
    pub(crate) photos: PhotoProcessor,
    /// The maximum size of a profile's JSON body, in bytes.
    pub(crate) profile_json_bytes: usize,
    /// The number of active accounts, with the time of the count.
    pub(crate) user_count: Mutex<Option<(NaiveDateTime, i64)>>,
    /// The origins of all clients, for while the change feed is down, with the time of the read.
    pub(crate) origins: Mutex<Option<(NaiveDateTime, Arc<HashSet<String>>)>>,
}

impl App {
    pub(crate) fn new(
        config: &Config,
        base_url: String,
        pool: Pool,
        clock: Clock,
        secrets: &Secrets,
    ) -> Result<Self, StartError> {
        let own = sealing_keys(&secrets.own, &config.keys.encryption_keys_old);
        let shared = sealing_keys(&secrets.shared, &config.secrets.encryption_keys_old);
        let signing_keys = own.sealer(Purpose::SigningKeys)?;
        let cache = Arc::new(IdentityCache::new(config.tokens.remember));
        let keys = |algorithm, ttl| {
            let (pool, clock, sealer) = (pool.clone(), clock.clone(), signing_keys.clone());
            KeyStore::new(algorithm, pool, clock, sealer, Arc::clone(&cache), ttl)
        };
        let ttl = Duration::seconds(config.tokens.access_ttl_seconds.into());
        let ec_keys = keys(SigningAlgorithm::Es256, ttl.max(KEYS_KEPT))?;
        let rsa_keys = keys(SigningAlgorithm::Rs256, KEYS_KEPT)?;
        let key = &secrets.own;
        let bodies = BodyBudget::new(config.limits.large_bodies_mib);
        Ok(Self {
            tokens: AccessTokens::new(base_url.clone(), ttl, ec_keys),
            rsa_keys,
            cache,
            relay: OnceLock::new(),
            sealers: Sealers::new(&own, &shared)?,
            refreshes: RefreshBatcher::new(&pool),
            passwords: PasswordHasher::new(&config.password),
            successor_key: hmac_sha256(key.expose(), b"holdfast refresh token successor"),
            cookies: Cookies::new(&base_url, config.allow_insecure_cookies),
            rate_limits: RateLimits::new(config.rate_limits.enabled.unwrap_or(true)),
            allow_plain_pkce: config.oauth.allow_plain_pkce,
            require_pkce_s256: config.oauth.require_pkce_s256,
            require_admin_totp: config.admin.require_totp,
            premium: config.premium.clone(),
            teams: config.teams,
            redirects: config.redirects()?,
            photos: PhotoProcessor::new(config.limits.photo_bytes, &config.http, bodies.clone())?,
            bodies,
            profile_json_bytes: config.limits.profile_json_bytes,
            user_count: Mutex::new(None),
            origins: Mutex::new(None),
            base_url: base_url.into(),
            pool,
            clock,
        })
    }

    /// Runs queries outside a transaction.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Db) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.pool.read(move |db| Ok(query(db)?)).await
    }

    /// Runs a single writing statement.
    pub(crate) async fn write_one<T: Send + 'static>(
        &self,
        statement: impl FnOnce(&mut Db) -> QueryResult<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.pool.write_one(move |db| Ok(statement(db)?)).await
    }

    pub(crate) fn keys(&self, algorithm: SigningAlgorithm) -> &KeyStore {
        match algorithm {
            SigningAlgorithm::Es256 => self.tokens.keys(),
            SigningAlgorithm::Rs256 => &self.rsa_keys,
        }
    }

    /// Returns the shared state, for use in extractors.
    pub(crate) fn from_request(req: &HttpRequest) -> Result<Data<Self>, Error> {
        req.app_data::<Data<Self>>()
            .cloned()
            .ok_or_else(|| Error::Internal("the service's state is not set".into()))
    }
}

fn sealing_keys(key: &SecretKey, old: &CommaList<SecretKey>) -> SealingKeys {
    SealingKeys::new(key.expose(), old.0.iter().map(SecretKey::expose))
}
