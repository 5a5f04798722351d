//! What every request of the service shares.

use actix_web::HttpRequest;
use actix_web::web::Data;
use chrono::NaiveDateTime;
use db_kit::Pool;
use service_kit::Clock;
use service_kit::config::SecretKey;
use service_kit::crypto::hmac_sha256;
use service_kit::seal::{SealError, Sealer};
use tokio::sync::Mutex;

use crate::config::{Config, PremiumConfig};
use crate::error::Error;
use crate::limits::Limits;
use crate::passwords::PasswordHasher;
use crate::tokens::access::AccessTokens;
use crate::tokens::keys::KeyStore;

/// The service's parts.
pub(crate) struct App {
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
    pub(crate) passwords: PasswordHasher,
    pub(crate) tokens: AccessTokens,
    /// What refresh tokens are derived from one another with. The replicas share it as they share the
    /// key it is derived from.
    pub(crate) successor_key: [u8; 32],
    pub(crate) limits: Limits,
    pub(crate) premium: PremiumConfig,
    /// The number of active accounts, and when it was counted.
    pub(crate) user_count: Mutex<Option<(NaiveDateTime, i64)>>,
}

impl App {
    pub(crate) fn new(
        config: &Config,
        base_url: String,
        pool: Pool,
        clock: Clock,
        key: &SecretKey,
    ) -> Result<Self, SealError> {
        let old = config
            .keys
            .encryption_keys_old
            .0
            .iter()
            .map(SecretKey::expose);
        let keys = KeyStore::new(pool.clone(), clock.clone(), Sealer::new(key.expose(), old)?);
        Ok(Self {
            tokens: AccessTokens::new(base_url, config.tokens.access_ttl(), keys),
            passwords: PasswordHasher::new(config.password.bcrypt_cost),
            successor_key: hmac_sha256(key.expose(), b"holdfast refresh token successor"),
            limits: Limits::new(config.rate_limits.enabled.unwrap_or(true)),
            premium: config.premium.clone(),
            user_count: Mutex::new(None),
            pool,
            clock,
        })
    }

    /// The parts, from inside an extractor.
    pub(crate) fn of(req: &HttpRequest) -> Result<Data<Self>, Error> {
        req.app_data::<Data<Self>>()
            .cloned()
            .ok_or_else(|| Error::Internal("the service's state is not set".into()))
    }
}
