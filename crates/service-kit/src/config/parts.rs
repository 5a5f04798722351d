use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use db_kit::DatabaseUrl;
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretBox, SecretString};
use serde::{Deserialize, Deserializer};

use super::ConfigError;

/// The table `[…database]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// `sqlite://…` or `postgres://…`. If not set, it is a SQLite file in the data directory.
    pub url: Option<DatabaseUrl>,
    /// The maximum number of connections of this process, at least 1. A request that waits two seconds for one receives 503.
    pub pool_size: u32,
    /// Whether `serve` applies pending migrations before it accepts requests. If not, the service is not ready until the command
    /// `migrate` has applied them.
    pub migrate: bool,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            url: None,
            pool_size: 8,
            migrate: true,
        }
    }
}

/// The table `[…broker]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrokerConfig {
    /// `amqp://USER:PASSWORD@HOST:PORT/VHOST`, or the same with `amqps://`. If not set, it is `memory:`, a broker inside the
    /// process, which works only in the standalone.
    pub url: Option<SecretText>,
    /// A prefix for the names of all exchanges and queues, the same in all parts. With different prefixes, several installations
    /// can share a broker.
    pub prefix: String,
}

impl BrokerConfig {
    /// Parses the address of the broker for its client; if none is set, it is the broker inside the process. `service` is the
    /// prefix of this service's settings, such as `IDENTITY`, for the error.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn url<U: FromStr<Err: fmt::Display> + Default>(
        &self,
        service: &str,
    ) -> Result<U, ConfigError> {
        let Some(url) = &self.url else {
            return Ok(U::default());
        };
        let parsed = url.expose().parse();
        parsed.map_err(|cause| ConfigError::rule(format!("{service}__BROKER__URL: {cause}")))
    }

    /// Parses the address for a process of its own, which has no broker inside.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn outside_url<U: FromStr<Err: fmt::Display> + Default>(
        &self,
        service: &str,
    ) -> Result<U, ConfigError> {
        match &self.url {
            Some(url) if url.expose() != "memory:" => self.url(service),
            _ => Err(ConfigError::rule(format!(
                "{service}__BROKER__URL must be an amqp:// or amqps:// URL; memory: works only in the standalone"
            ))),
        }
    }
}

/// The table `[…secrets]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretsConfig {
    /// Encrypts the addresses of chats and webhooks, e-mails until they are sent, and sign-ins to the dashboard. The same in all
    /// parts. If not set, it is in the file `secrets.key` in the data directory, which the first start creates.
    pub encryption_key: Option<SecretKey>,
    /// Earlier keys, which still decrypt what was encrypted with them.
    pub encryption_keys_old: CommaList<SecretKey>,
}

/// The table `[…http]`: the guarded client for addresses that users give.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpGuardConfig {
    /// Private networks, such as `10.0.0.0/8`, to which the addresses that users enter may belong.
    pub allowed_cidrs: CommaList<IpNet>,
    /// Whether addresses that users enter may use plain http.
    pub allow_plain: bool,
}

/// The table `[…cors]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CorsConfig {
    /// Origins, such as `https://app.example.com`, whose pages may call the API from a browser.
    pub allowed_origins: CommaList<String>,
}

/// The table `[…rate_limits]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimitsConfig {
    /// Whether requests beyond a rate limit are rejected with 429. If not set, they are.
    pub enabled: Option<bool>,
}

/// A list: separated by commas in the environment; in the file, separated by commas or an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommaList<T>(pub Vec<T>);

impl<T> Default for CommaList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: FromStr> Deserialize<'de> for CommaList<T>
where
    T::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Items(Vec<String>),
        }
        let items = match Written::deserialize(deserializer)? {
            Written::Text(text) => text
                .split(',')
                .map(|item| item.trim().to_owned())
                .filter(|item| !item.is_empty())
                .collect(),
            Written::Items(items) => items,
        };
        items
            .iter()
            .map(|item| item.parse().map_err(serde::de::Error::custom))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// A secret text that is never printed.
#[derive(Debug, Clone)]
pub struct SecretText(SecretString);

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}

impl SecretText {
    /// Returns the text.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// A key of 32 bytes, configured in base64.
#[derive(Debug)]
pub struct SecretKey(SecretBox<[u8; 32]>);

impl SecretKey {
    /// Creates a key from bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(SecretBox::new(Box::new(bytes)))
    }

    /// Returns the bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose_secret()
    }
}

impl Clone for SecretKey {
    fn clone(&self) -> Self {
        Self::new(*self.expose())
    }
}

impl FromStr for SecretKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD
            .decode(text.trim())
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        bytes
            .map(Self::new)
            .ok_or("a key must be 32 bytes in base64, as printed by `openssl rand -base64 32`")
    }
}

impl<'de> Deserialize<'de> for SecretKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}
