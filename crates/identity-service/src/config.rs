//! The configuration of the service: the table `[identity]` of the file and `IDENTITY__…` in the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use auth_types::PremiumTier;
use broker::BrokerUrl;
use chrono::Duration;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use service_kit::config::{
    BrokerConfig, CommaList, ConfigError, CorsConfig, DatabaseConfig, HttpGuardConfig,
    RateLimitsConfig, SecretKey, SecretsConfig, is_base_url, public_url, refuse_zeros,
};
use service_kit::http::InternalSecret;
use service_kit::start::DataDir;
use url::Url;

pub use accounts::{AdminConfig, PasswordConfig};
pub use limits::LimitsConfig;

use crate::allowed_origins::OriginAllowList;
use crate::oauth::clients::config::{ConfiguredClient, OAuthClientConfig, read};
use crate::oauth::config::OAuthConfig;

/// All configuration keys. `Default` is what `identity-service serve` runs with if nothing is configured.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on. With port 0 the system chooses a port, which standard output reports.
    pub listen: SocketAddr,
    /// The public URL of this service, http or https, without a query. It is the issuer of tokens, and links in mails
    /// and addresses of photos begin with it. If not set, it is `http://` and the listen address, or the loopback
    /// address if the service listens on all addresses.
    #[serde(deserialize_with = "read_url")]
    pub base_url: Option<Url>,
    /// The data directory, for the SQLite file and generated keys. If not set, it is `data` in the working directory.
    /// Not needed if the database and both keys are configured.
    pub data_dir: Option<PathBuf>,
    /// The database.
    pub database: DatabaseConfig,
    /// The broker for the service's events.
    pub broker: BrokerConfig,
    /// The encryption key for signing keys and second factors.
    pub keys: KeysConfig,
    /// The encryption key for mails on their way to the notifier.
    pub secrets: SecretsConfig,
    /// Lifetime and caching of access tokens.
    pub tokens: TokensConfig,
    /// Hashing and strength of passwords.
    pub password: PasswordConfig,
    /// What administration requires.
    pub admin: AdminConfig,
    /// Single sign-on.
    pub sso: SsoConfig,
    /// OAuth clients that are defined in the file.
    pub oauth_clients: Vec<OAuthClientConfig>,
    /// Rules for all OAuth clients.
    pub oauth: OAuthConfig,
    /// The bandwidth of the plans.
    pub premium: PremiumConfig,
    /// How many teams an account may have, and how people join them.
    pub teams: TeamsConfig,
    /// Whether rate limits apply.
    pub rate_limits: RateLimitsConfig,
    /// The sizes beyond which requests are rejected.
    pub limits: LimitsConfig,
    /// The origins whose pages may call the API.
    pub cors: CorsConfig,
    /// Networks of trusted proxies and of the work-session service, whose `X-Forwarded-For` and `Forwarded` headers
    /// count. Include loopback if one runs on this machine. Limits by address count the client in front of them.
    pub trusted_proxies: CommaList<IpNet>,
    /// The guarded client for addresses that users give.
    pub http: HttpGuardConfig,
    /// Whether users on other machines may sign in to the pages over plain http.
    pub allow_insecure_cookies: bool,
    /// The `max-age` of `Strict-Transport-Security` in seconds. With 0 the header is left to the proxy. It is never
    /// sent if the public URL is plain http.
    pub hsts_seconds: u64,
    /// The secret by which other services in this process are recognised.
    #[serde(skip)]
    pub inside: Option<InternalSecret>,
    /// The number of threads that handle requests, at least 1. If not set, it is the number of cores.
    pub workers: Option<usize>,
    /// Seconds after SIGTERM during which requests are still accepted, so that load balancers notice that the service
    /// is not ready. Requests in progress then have ten more seconds.
    pub drain_seconds: u64,
    /// Seconds between two housekeeping runs, which delete expired rows and rotate keys; at least 1. The larger
    /// tables are processed once an hour.
    pub housekeeping_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            base_url: None,
            data_dir: None,
            database: DatabaseConfig::default(),
            broker: BrokerConfig::default(),
            keys: KeysConfig::default(),
            secrets: SecretsConfig::default(),
            tokens: TokensConfig::default(),
            password: PasswordConfig::default(),
            admin: AdminConfig::default(),
            sso: SsoConfig::default(),
            oauth_clients: Vec::new(),
            oauth: OAuthConfig::default(),
            premium: PremiumConfig::default(),
            teams: TeamsConfig::default(),
            rate_limits: RateLimitsConfig::default(),
            limits: LimitsConfig::default(),
            cors: CorsConfig::default(),
            trusted_proxies: CommaList::default(),
            http: HttpGuardConfig::default(),
            allow_insecure_cookies: false,
            hsts_seconds: 0,
            inside: None,
            workers: None,
            drain_seconds: 5,
            housekeeping_seconds: 60,
        }
    }
}

/// `[identity.keys]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeysConfig {
    /// Encrypts signing keys and second factors in the database. The same in all replicas. If not set, it is in the
    /// file `identity-keys.key` in the data directory, which the first start creates.
    pub encryption_key: Option<SecretKey>,
    /// Earlier keys, which still decrypt what was encrypted with them. Needed until `admin keys reseal` has run.
    pub encryption_keys_old: CommaList<SecretKey>,
    /// Days after which a new signing key replaces the current one; 0 for never.
    pub rotate_days: u16,
}

impl Default for KeysConfig {
    fn default() -> Self {
        Self {
            encryption_key: None,
            encryption_keys_old: CommaList::default(),
            rotate_days: 90,
        }
    }
}

impl KeysConfig {
    /// Returns the age at which signing keys are rotated, or `None` for never.
    pub(crate) fn rotate_after(&self) -> Option<Duration> {
        (self.rotate_days > 0).then(|| Duration::days(self.rotate_days.into()))
    }
}

/// `[identity.tokens]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokensConfig {
    /// The lifetime of an access token in seconds, at least 1; also sent as `expires_in`.
    pub access_ttl_seconds: u32,
    /// Whether sessions and accounts are cached while the change feed is alive. Otherwise each validation reads the
    /// database.
    pub remember: bool,
}

impl Default for TokensConfig {
    fn default() -> Self {
        Self {
            access_ttl_seconds: 2_592_000,
            remember: true,
        }
    }
}

/// `[identity.sso]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SsoConfig {
    /// Origins to which single sign-on may send a token, and to which browsers may be sent after signing out: in full,
    /// such as `https://app.example.com`, or `https://*.example.com` for any one label below the domain. Plain http,
    /// and `:*` for any port, are allowed only for this machine: `http://localhost:*`.
    pub allowed_origins: CommaList<String>,
}

/// `[identity.premium]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PremiumConfig {
    /// The bandwidth of a FREE account in megabytes, as the API reports it. The service does not enforce it.
    pub free_bandwidth_mb: i64,
    /// The bandwidth of a PREMIUM account in megabytes, as the API reports it. The service does not enforce it.
    pub premium_bandwidth_mb: i64,
}

impl Default for PremiumConfig {
    fn default() -> Self {
        Self {
            free_bandwidth_mb: 1_024,
            premium_bandwidth_mb: 10_240,
        }
    }
}

/// `[identity.teams]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TeamsConfig {
    /// The number of teams that one account may own, 1 to 1,000.
    pub max_owned: u32,
    /// The number of teams of other owners that one account may belong to, 1 to 1,000.
    pub max_joined: u32,
    /// Whether owners and admins may add an account to their team without the user's consent. Otherwise they invite
    /// users, who join by accepting. Users who left a team themselves must always be invited.
    pub direct_add: bool,
}

impl TeamsConfig {
    /// The highest value of both limits.
    pub(crate) const HIGHEST: i64 = 1_000;
}

impl Default for TeamsConfig {
    fn default() -> Self {
        Self {
            max_owned: 100,
            max_joined: 1_000,
            direct_add: true,
        }
    }
}

impl PremiumConfig {
    pub(crate) fn bandwidth_mb(&self, tier: PremiumTier) -> i64 {
        match tier {
            PremiumTier::Free => self.free_bandwidth_mb,
            PremiumTier::Premium => self.premium_bandwidth_mb,
        }
    }
}

impl Config {
    /// Checks the rules that concern several keys, or that no type expresses.
    ///
    /// # Errors
    /// [`ConfigError`] with one line that names the key.
    pub fn check(&self) -> Result<(), ConfigError> {
        let cost = self.password.bcrypt_cost;
        if !(4..=15).contains(&cost) {
            return Err(ConfigError::rule(
                "IDENTITY__PASSWORD__BCRYPT_COST must be 4 to 15",
            ));
        }
        if cost < 10 && !self.password.allow_weak_cost {
            return Err(ConfigError::rule(
                "IDENTITY__PASSWORD__BCRYPT_COST under 10 is for tests: it requires IDENTITY__PASSWORD__ALLOW_WEAK_COST=true",
            ));
        }
        if self.password.min_strength > 4 {
            return Err(ConfigError::rule(
                "IDENTITY__PASSWORD__MIN_STRENGTH must be 0 to 4",
            ));
        }
        let zeros = [
            ("WORKERS", self.workers == Some(0)),
            ("HOUSEKEEPING_SECONDS", self.housekeeping_seconds == 0),
            ("DATABASE__POOL_SIZE", self.database.pool_size == 0),
            (
                "TOKENS__ACCESS_TTL_SECONDS",
                self.tokens.access_ttl_seconds == 0,
            ),
        ];
        refuse_zeros("IDENTITY", &zeros)?;
        for (key, most) in [
            ("MAX_OWNED", self.teams.max_owned),
            ("MAX_JOINED", self.teams.max_joined),
        ] {
            if !(1..=TeamsConfig::HIGHEST).contains(&i64::from(most)) {
                return Err(ConfigError::rule(format!(
                    "IDENTITY__TEAMS__{key} must be 1 to 1000"
                )));
            }
        }
        self.limits.check()?;
        self.broker.url::<BrokerUrl>("IDENTITY")?;
        self.redirects()?;
        self.clients()?;
        match &self.base_url {
            Some(url) if !is_base_url(url) => Err(ConfigError::rule(
                "IDENTITY__BASE_URL must be an http:// or https:// URL with a host, without a query, and with only plain path segments",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn home(&self) -> DataDir {
        DataDir::new(self.data_dir.as_deref())
    }

    /// Returns the origins to which browsers may be redirected.
    pub(crate) fn redirects(&self) -> Result<OriginAllowList, ConfigError> {
        OriginAllowList::parse(&self.sso.allowed_origins.0)
            .map_err(|why| ConfigError::rule(format!("IDENTITY__SSO__ALLOWED_ORIGINS: {why}")))
    }

    pub(crate) fn clients(&self) -> Result<Vec<ConfiguredClient>, ConfigError> {
        read(&self.oauth_clients)
    }

    /// Returns the public URL without a trailing slash, for a server that listens on `listen`.
    pub(crate) fn public_url(&self, listen: SocketAddr) -> String {
        public_url(self.base_url.as_ref(), listen)
    }
}

fn read_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map(Some)
        .map_err(serde::de::Error::custom)
}

mod accounts;
mod development;
mod limits;
#[cfg(test)]
mod tests;
