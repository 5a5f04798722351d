//! The service's configuration: the table `[identity]` of the file and `IDENTITY__…` of the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use auth_types::PremiumTier;
use broker::BrokerUrl;
use chrono::Duration;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use service_kit::config::{
    BrokerConfig, CommaList, ConfigError, CorsConfig, DatabaseConfig, HttpGuardConfig,
    RateLimitsConfig, SecretKey, SecretsConfig, is_base_url, public_url,
};
use service_kit::http::Inside;
use service_kit::start::Home;
use url::Url;

pub use accounts::{AdminConfig, PasswordConfig};
pub use limits::LimitsConfig;

use crate::allowed_origins::OriginAllowList;
use crate::oauth::clients::config::{ConfiguredClient, OAuthClientConfig, read};
use crate::oauth::config::OAuthConfig;

/// Everything that can be set. `Default` is what a bare `identity-service serve` runs with.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on; port 0 picks one, which the line on standard output tells.
    pub listen: SocketAddr,
    /// The address at which browsers and clients find it, http or https without a query. It is the issuer of
    /// tokens, and stands in mails and in addresses of photos. When not set, `http://` and the address it listens
    /// on (the loopback address where it listens on all of them).
    #[serde(deserialize_with = "read_url")]
    pub base_url: Option<Url>,
    /// Folder for the SQLite file and for keys that were not configured; `data` in the working directory when
    /// not set. Not needed where the database and both keys are.
    pub data_dir: Option<PathBuf>,
    /// The database.
    pub database: DatabaseConfig,
    /// The broker for the area's events.
    pub broker: BrokerConfig,
    /// What signing keys are sealed with.
    pub keys: KeysConfig,
    /// What mails on their way are sealed with.
    pub secrets: SecretsConfig,
    /// Access tokens.
    pub tokens: TokensConfig,
    /// Passwords.
    pub password: PasswordConfig,
    /// What administration takes.
    pub admin: AdminConfig,
    /// Single sign-on.
    pub sso: SsoConfig,
    /// OAuth clients that stand in the file.
    pub oauth_clients: Vec<OAuthClientConfig>,
    /// OAuth clients.
    pub oauth: OAuthConfig,
    /// What the plans give.
    pub premium: PremiumConfig,
    /// How many teams there may be, and how people get into them.
    pub teams: TeamsConfig,
    /// Whether rate limits hold.
    pub rate_limits: RateLimitsConfig,
    /// What is refused for its size.
    pub limits: LimitsConfig,
    /// Which pages of other origins may call.
    pub cors: CorsConfig,
    /// Networks whose `X-Forwarded-For` and `Forwarded` are believed: those of proxies and of the work-session
    /// service, loopback too if they are on this machine. Limits by address count whoever stands before them.
    pub trusted_proxies: CommaList<IpNet>,
    /// The guarded client for addresses that users give.
    pub http: HttpGuardConfig,
    /// Whether people may sign in to pages over plain http from other machines.
    pub allow_insecure_cookies: bool,
    /// Seconds for which browsers that came over https come over nothing else (`Strict-Transport-Security`); 0 to
    /// leave that to the proxy. Never said where the public address is plain http.
    pub hsts_seconds: u64,
    /// How the other parts of this process are known.
    #[serde(skip)]
    pub inside: Option<Inside>,
    /// Threads that answer requests, at least 1; as many as there are cores when not set.
    pub workers: Option<usize>,
    /// Seconds after SIGTERM during which requests are still accepted, so that balancers notice that it is not
    /// ready. What is then in flight has ten more.
    pub drain_seconds: u64,
    /// Seconds between two rounds of housekeeping (what has expired, keys that are due), at least 1; the larger
    /// tables are looked through once an hour.
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
    /// Seals signing keys and second factors in the database; the same in all replicas. When it is not set,
    /// `identity-keys.key` in the data folder, which is made once.
    pub encryption_key: Option<SecretKey>,
    /// Keys that still open what they sealed, until `admin keys reseal` was run.
    pub encryption_keys_old: CommaList<SecretKey>,
    /// Days after which a key that signs tokens is replaced by a new one; 0 for never.
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
    /// None for never.
    pub(crate) fn rotate_after(&self) -> Option<Duration> {
        (self.rotate_days > 0).then(|| Duration::days(self.rotate_days.into()))
    }
}

/// `[identity.tokens]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokensConfig {
    /// Seconds for which an access token is good, at least 1; also `expires_in`.
    pub access_ttl_seconds: u32,
    /// Whether sessions and accounts are remembered while the feed of changes lives; without, each
    /// validation reads the database.
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

impl TokensConfig {
    pub(crate) fn access_ttl(&self) -> Duration {
        Duration::seconds(self.access_ttl_seconds.into())
    }
}

/// `[identity.sso]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SsoConfig {
    /// Origins that sign-ins may be handed to, and browsers sent to after a sign-out: full ones, such as
    /// `https://app.example.com`, or `https://*.example.com` for one label below. Plain http and `:*` for any
    /// port are for this machine alone: `http://localhost:*`.
    pub allowed_origins: CommaList<String>,
}

/// `[identity.premium]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PremiumConfig {
    /// Megabytes of bandwidth that a FREE account is told it has; nothing here enforces it.
    pub free_bandwidth_mb: i64,
    /// Megabytes of bandwidth that a PREMIUM account is told it has.
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
    /// Teams that one account may own; 1 to 1,000.
    pub max_owned: u32,
    /// Teams of others that one account may be in; 1 to 1,000.
    pub max_joined: u32,
    /// Whether admins of a team may add an account without asking it. Where not, people are invited and join by
    /// accepting. Whoever left a team by themselves always has to be invited.
    pub direct_add: bool,
}

impl TeamsConfig {
    /// The highest value of either.
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
    /// Megabytes of an account of this tier.
    pub(crate) fn bandwidth_mb(&self, tier: PremiumTier) -> i64 {
        match tier {
            PremiumTier::Free => self.free_bandwidth_mb,
            PremiumTier::Premium => self.premium_bandwidth_mb,
        }
    }
}

impl Config {
    /// Rules that concern several keys or more than a type can hold.
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
                "IDENTITY__PASSWORD__BCRYPT_COST under 10 is for tests: set IDENTITY__PASSWORD__ALLOW_WEAK_COST=true too",
            ));
        }
        if self.password.min_strength > 4 {
            return Err(ConfigError::rule(
                "IDENTITY__PASSWORD__MIN_STRENGTH must be 0 to 4",
            ));
        }
        if self.tokens.access_ttl_seconds == 0 {
            return Err(ConfigError::rule(
                "IDENTITY__TOKENS__ACCESS_TTL_SECONDS must be at least 1",
            ));
        }
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
                "IDENTITY__BASE_URL must be http:// or https:// with a host, no query, and only plain segments in its path",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.data_dir.as_deref())
    }

    /// Where browsers may be sent to.
    pub(crate) fn redirects(&self) -> Result<OriginAllowList, ConfigError> {
        OriginAllowList::parse(&self.sso.allowed_origins.0)
            .map_err(|why| ConfigError::rule(format!("IDENTITY__SSO__ALLOWED_ORIGINS: {why}")))
    }

    pub(crate) fn clients(&self) -> Result<Vec<ConfiguredClient>, ConfigError> {
        read(&self.oauth_clients)
    }

    /// The public address without a slash at its end, for a server that listens on `listen`.
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
