//! The service's configuration: the table `[identity]` of the file and `IDENTITY__…` of the environment.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use broker::BrokerUrl;
use chrono::Duration;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use service_kit::config::{
    BrokerConfig, CommaList, ConfigError, DatabaseConfig, HttpGuardConfig, RateLimitsConfig,
    SecretKey, SecretsConfig,
};
use service_kit::http::Limits;
use url::Url;

/// Everything that can be set. `Default` is what a bare `identity-service serve` runs with.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where to listen; port 0 picks one.
    pub listen: SocketAddr,
    /// The public address, which is also the issuer of tokens; `http://` + `listen` when not set.
    #[serde(deserialize_with = "read_url")]
    pub base_url: Option<Url>,
    /// Where the SQLite file and keys that were not configured go.
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
    /// Single sign-on.
    pub sso: SsoConfig,
    /// What the plans give.
    pub premium: PremiumConfig,
    /// Whether rate limits hold.
    pub rate_limits: RateLimitsConfig,
    /// What is refused for its size.
    pub limits: Limits,
    /// Which pages of other origins may call.
    pub cors: CorsConfig,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: CommaList<IpNet>,
    /// The guarded client for addresses that users give.
    pub http: HttpGuardConfig,
    /// Whether cookies may go over plain http beyond loopback.
    pub allow_insecure_cookies: bool,
    /// Threads that answer; as many as there are cores when not set.
    pub workers: Option<usize>,
    /// How long, in seconds, requests are still accepted after the signal to stop.
    pub drain_seconds: u64,
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
            sso: SsoConfig::default(),
            premium: PremiumConfig::default(),
            rate_limits: RateLimitsConfig::default(),
            limits: Limits::default(),
            cors: CorsConfig::default(),
            trusted_proxies: CommaList::default(),
            http: HttpGuardConfig::default(),
            allow_insecure_cookies: false,
            workers: None,
            drain_seconds: 5,
        }
    }
}

/// `[identity.keys]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeysConfig {
    /// Seals signing keys in the database; made once in the data folder when it is not set.
    pub encryption_key: Option<SecretKey>,
    /// Keys that still open.
    pub encryption_keys_old: CommaList<SecretKey>,
}

/// `[identity.tokens]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokensConfig {
    /// Life of an access token.
    pub access_ttl_seconds: u32,
}

impl Default for TokensConfig {
    fn default() -> Self {
        Self {
            access_ttl_seconds: 2_592_000,
        }
    }
}

impl TokensConfig {
    pub(crate) fn access_ttl(&self) -> Duration {
        Duration::seconds(self.access_ttl_seconds.into())
    }
}

/// `[identity.password]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordConfig {
    /// 4 to 15; each step doubles the time of a sign-in.
    pub bcrypt_cost: u32,
    /// Whether a cost under 10 is accepted, for tests.
    pub allow_weak_cost: bool,
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self {
            bcrypt_cost: 12,
            allow_weak_cost: false,
        }
    }
}

/// `[identity.sso]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SsoConfig {
    /// Origins that sign-ins may be handed to.
    pub allowed_origins: CommaList<String>,
}

/// `[identity.premium]`
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PremiumConfig {
    /// Megabytes of a FREE account.
    pub free_bandwidth_mb: i64,
    /// Megabytes of a PREMIUM account.
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

/// `[identity.cors]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorsConfig {
    /// Origins of pages that may call from a browser.
    pub allowed_origins: CommaList<String>,
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
        if self.tokens.access_ttl_seconds == 0 {
            return Err(ConfigError::rule(
                "IDENTITY__TOKENS__ACCESS_TTL_SECONDS must be at least 1",
            ));
        }
        self.broker_url()?;
        match &self.base_url {
            Some(url) if !is_base_url(url) => Err(ConfigError::rule(
                "IDENTITY__BASE_URL must be http:// or https:// with a host and no query",
            )),
            _ => Ok(()),
        }
    }

    /// Where the broker is.
    pub(crate) fn broker_url(&self) -> Result<BrokerUrl, ConfigError> {
        let Some(url) = &self.broker.url else {
            return Ok(BrokerUrl::Memory);
        };
        url.expose()
            .parse()
            .map_err(|error| ConfigError::rule(format!("IDENTITY__BROKER__URL: {error}")))
    }

    /// The public address without a slash at its end, for a server that listens on `listen`.
    pub(crate) fn public_url(&self, listen: SocketAddr) -> String {
        match &self.base_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{listen}"),
        }
    }
}

fn read_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn is_base_url(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables = variables
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let config: Config = service_kit::config::load_from("IDENTITY", None, variables)?;
        config.check().map(|()| config)
    }

    #[test]
    fn every_key_of_the_launch_contract_is_known() {
        let key = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
        let config = read(&[
            ("IDENTITY__LISTEN", "0.0.0.0:0"),
            ("IDENTITY__BASE_URL", "https://id.example.com/"),
            ("IDENTITY__DATA_DIR", "/var/lib/holdfast"),
            ("IDENTITY__DATABASE__URL", "postgres://u@h/d"),
            ("IDENTITY__DATABASE__POOL_SIZE", "4"),
            ("IDENTITY__DATABASE__MIGRATE", "false"),
            ("IDENTITY__BROKER__URL", "amqp://h"),
            ("IDENTITY__BROKER__PREFIX", "t."),
            ("IDENTITY__KEYS__ENCRYPTION_KEY", key),
            ("IDENTITY__SECRETS__ENCRYPTION_KEY", key),
            ("IDENTITY__TOKENS__ACCESS_TTL_SECONDS", "60"),
            ("IDENTITY__PASSWORD__BCRYPT_COST", "10"),
            (
                "IDENTITY__SSO__ALLOWED_ORIGINS",
                "https://a.example.com,https://b.example.com",
            ),
            ("IDENTITY__RATE_LIMITS__ENABLED", "false"),
            ("IDENTITY__TRUSTED_PROXIES", "10.0.0.0/8"),
            ("IDENTITY__HTTP__ALLOWED_CIDRS", "127.0.0.0/8"),
            ("IDENTITY__HTTP__ALLOW_PLAIN", "true"),
            ("IDENTITY__ALLOW_INSECURE_COOKIES", "true"),
        ])
        .unwrap();
        assert_eq!(config.public_url(config.listen), "https://id.example.com");
        assert_eq!(config.sso.allowed_origins.0.len(), 2);
        assert_eq!(config.rate_limits.enabled, Some(false));
        assert!(!format!("{config:?}").contains("QUFB"));
    }

    #[test]
    fn a_bad_value_stops_the_start_and_is_named() {
        let refusal = |key: &str, value: &str| read(&[(key, value)]).unwrap_err().to_string();
        assert!(refusal("IDENTITY__PASSWORD__BCRYPT_COST", "9").contains("ALLOW_WEAK_COST"));
        assert!(refusal("IDENTITY__PASSWORD__BCRYPT_COST", "16").contains("BCRYPT_COST"));
        assert!(
            refusal("IDENTITY__TOKENS__ACCESS_TTL_SECONDS", "0").contains("ACCESS_TTL_SECONDS")
        );
        assert!(refusal("IDENTITY__BASE_URL", "ftp://h").contains("BASE_URL"));
        assert!(
            read(&[
                ("IDENTITY__PASSWORD__BCRYPT_COST", "4"),
                ("IDENTITY__PASSWORD__ALLOW_WEAK_COST", "true")
            ])
            .is_ok()
        );
    }
}
