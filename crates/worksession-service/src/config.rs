use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};
use service_kit::config::{
    self, BrokerConfig, CommaList, ConfigError, CorsConfig, DatabaseConfig, HttpGuardConfig,
    RateLimitsConfig, SecretText, SecretsConfig, is_base_url, public_url, refuse_zeros,
};
use service_kit::http::{InternalSecret, Limits};
use service_kit::names::is_readable;
use service_kit::start::DataDir;
use url::Url;

use crate::event_stream::EventStreamConfig;

/// The prefix of the service's environment variables. In lower case, it names the service's table in the file.
pub const PREFIX: &str = "WORKSESSION";

/// The configuration of the work-session service: `[worksession]` in the file, `WORKSESSION__…` in the
/// environment. The defaults are those of the standalone.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on. With port 0 the system chooses a port, which standard output reports.
    pub listen: SocketAddr,
    /// The public URL of this service, http or https. It is the URL of the dashboard, to which sign-ins return. If not
    /// set, it is `http://` and the listen address.
    #[serde(deserialize_with = "read_optional_url")]
    pub base_url: Option<Url>,
    /// The number of threads that handle requests, at least 1. If not set, it is the number of cores.
    pub workers: Option<usize>,
    /// The data directory, for the SQLite file and the generated key. If not set, it is `data` in the working
    /// directory. Not needed if the database and the key are configured.
    pub data_dir: Option<PathBuf>,
    /// The work-session database.
    pub database: DatabaseConfig,
    /// The message broker.
    pub broker: BrokerConfig,
    /// The URL at which this service calls the identity service. If not set, it is `http://127.0.0.1:8080`.
    #[serde(deserialize_with = "read_optional_url")]
    pub identity_url: Option<Url>,
    /// The URL at which browsers reach the identity service to sign in. If not set, it is that of `identity_url`.
    #[serde(deserialize_with = "read_optional_url")]
    pub identity_public_url: Option<Url>,
    /// How tokens are validated.
    pub auth: AuthConfig,
    /// The dashboard's OAuth client.
    pub dashboard: DashboardConfig,
    /// The key that encrypts the addresses of chats and webhooks. The notifier needs the same key.
    pub secrets: SecretsConfig,
    /// Which addresses users may enter for chats and webhooks.
    pub http: HttpGuardConfig,
    /// The rate limits, enabled by default.
    pub rate_limits: RateLimitsConfig,
    /// The limits on requests and connections.
    pub limits: Limits,
    /// Networks of trusted proxies, whose `X-Forwarded-For` and `Forwarded` headers count. Include loopback if a proxy
    /// runs on this machine. Limits by address count the client in front of these proxies.
    pub trusted_proxies: CommaList<IpNet>,
    /// Whether users on other machines may sign in to the dashboard over plain http.
    pub allow_insecure_cookies: bool,
    /// The `max-age` of `Strict-Transport-Security` in seconds. With 0 the header is left to the proxy. It is never sent
    /// if the public URL is plain http.
    pub hsts_seconds: u64,
    /// The secret that identifies this service to an identity service in the same process.
    #[serde(skip)]
    pub inside: Option<InternalSecret>,
    /// The origins whose pages may call the API.
    pub cors: CorsConfig,
    /// Seconds after SIGTERM during which requests are still accepted, so that load balancers notice that the service is
    /// not ready. Requests in progress then have ten more seconds.
    pub drain_seconds: u64,
    /// Seconds between two runs of the background jobs, at least 1. They mark overdue sessions as abandoned and erase the
    /// data of deleted accounts and teams.
    pub sweep_seconds: u64,
    /// The categories of sessions.
    pub categories: CategoriesConfig,
    /// Event streams.
    pub live: EventStreamConfig,
    /// Leaderboards.
    pub leaderboard: LeaderboardConfig,
    /// The nightly audit of the rollups.
    pub audit: AuditConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090),
            base_url: None,
            workers: None,
            data_dir: None,
            database: DatabaseConfig::default(),
            broker: BrokerConfig::default(),
            identity_url: None,
            identity_public_url: None,
            auth: AuthConfig::default(),
            dashboard: DashboardConfig::default(),
            secrets: SecretsConfig::default(),
            http: HttpGuardConfig::default(),
            rate_limits: RateLimitsConfig::default(),
            limits: Limits::default(),
            trusted_proxies: CommaList::default(),
            allow_insecure_cookies: false,
            hsts_seconds: 0,
            inside: None,
            cors: CorsConfig::default(),
            drain_seconds: 5,
            sweep_seconds: 60,
            categories: CategoriesConfig::default(),
            live: EventStreamConfig::default(),
            leaderboard: LeaderboardConfig::default(),
            audit: AuditConfig::default(),
        }
    }
}

/// `[worksession.auth]`: how tokens are validated.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    /// Milliseconds for which a successful validation of a token is reused, 0 (never) to 1000, and never past the token's
    /// expiry. A revocation can take effect this much later.
    pub remember_ms: u64,
}

impl AuthConfig {
    /// Returns `remember_ms` as a duration.
    #[must_use]
    pub fn cache_lifetime(self) -> Duration {
        Duration::from_millis(self.remember_ms)
    }
}

/// `[worksession.dashboard]`: with both values the dashboard signs users in. Without them it explains how to register it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DashboardConfig {
    /// The id of the dashboard's OAuth client at the identity service. Nobody can sign in to the dashboard unless both
    /// this and the secret are set.
    pub client_id: Option<String>,
    /// The secret of the dashboard's OAuth client.
    pub client_secret: Option<SecretText>,
}

/// `[worksession.categories]`: the categories of sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CategoriesConfig {
    /// The session categories that clients suggest.
    pub suggested: CommaList<String>,
    /// Whether a start with a category that is not suggested is refused.
    pub strict: bool,
}

impl Default for CategoriesConfig {
    fn default() -> Self {
        let suggested = [
            "coding", "writing", "study", "design", "meeting", "planning", "admin", "other",
        ];
        Self {
            suggested: CommaList(suggested.map(str::to_owned).to_vec()),
            strict: false,
        }
    }
}

/// `[worksession.leaderboard]`: how leaderboards are cached.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LeaderboardConfig {
    /// Seconds for which a leaderboard is cached for all callers, 0 (not cached) to 10.
    pub remember_seconds: u64,
}

impl Default for LeaderboardConfig {
    fn default() -> Self {
        Self {
            remember_seconds: 5,
        }
    }
}

impl LeaderboardConfig {
    /// Returns `remember_seconds` as a duration.
    #[must_use]
    pub fn cache_lifetime(self) -> Duration {
        Duration::from_secs(self.remember_seconds)
    }
}

/// `[worksession.audit]`: the nightly audit of the rollups.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// The hour, 0 to 23 in UTC, at which the stored totals of some users are compared with their sessions.
    pub hour: u8,
    /// The number of users that are compared each night; 0 compares none.
    pub users: u32,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            hour: 3,
            users: 200,
        }
    }
}

impl Config {
    /// Returns the data directory.
    pub(crate) fn data_dir(&self) -> DataDir {
        DataDir::new(self.data_dir.as_deref())
    }

    /// Returns the public URL without a trailing slash. Without `base_url`, it follows from the address `listen`.
    pub(crate) fn public_url(&self, listen: SocketAddr) -> String {
        public_url(self.base_url.as_ref(), listen)
    }

    /// Reads and checks the configuration. A `data_dir` from the command line takes precedence.
    ///
    /// # Errors
    /// [`ConfigError`] when the file is unreadable, or a key is unknown or invalid: one line that names it.
    pub fn load(file: Option<&Path>, data_dir: Option<PathBuf>) -> Result<Self, ConfigError> {
        let mut config: Self = config::load(PREFIX, file)?;
        config.data_dir = data_dir.or(config.data_dir);
        config.check()?;
        Ok(config)
    }

    /// Checks the rules that the type of a single value cannot express.
    ///
    /// # Errors
    /// [`ConfigError`] when a value breaks a rule: one line that names the key.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse =
            |key: &str, rule: &str| Err(ConfigError::rule(format!("{PREFIX}__{key}: {rule}")));
        if self.base_url.as_ref().is_some_and(|url| !is_base_url(url)) {
            return refuse(
                "BASE_URL",
                "must be an http:// or https:// URL with a host, without a query, and with only plain path segments",
            );
        }
        let zeros = [
            ("WORKERS", self.workers == Some(0)),
            ("SWEEP_SECONDS", self.sweep_seconds == 0),
            ("DATABASE__POOL_SIZE", self.database.pool_size == 0),
        ];
        refuse_zeros(PREFIX, &zeros)?;
        refuse_zeros(PREFIX, &self.limits.zeros())?;
        if self.auth.remember_ms > 1_000 {
            return refuse("AUTH__REMEMBER_MS", "must be at most 1000");
        }
        if self.leaderboard.remember_seconds > 10 {
            return refuse("LEADERBOARD__REMEMBER_SECONDS", "must be at most 10");
        }
        if self.audit.hour > 23 {
            return refuse("AUDIT__HOUR", "must be at most 23");
        }
        self.live.check()?;
        if self.dashboard.client_id.is_some() != self.dashboard.client_secret.is_some() {
            return refuse(
                "DASHBOARD__CLIENT_ID",
                "requires DASHBOARD__CLIENT_SECRET, and vice versa",
            );
        }
        if self.categories.strict && self.categories.suggested.0.is_empty() {
            return refuse(
                "CATEGORIES__SUGGESTED",
                "must not be empty while CATEGORIES__STRICT is true",
            );
        }
        if !self
            .categories
            .suggested
            .0
            .iter()
            .all(|name| is_readable(name))
        {
            return refuse("CATEGORIES__SUGGESTED", "must be readable names");
        }
        Ok(())
    }
}

mod development;

/// Returns the default URL of the identity service.
pub(crate) fn default_identity_url() -> Url {
    #[expect(clippy::expect_used, reason = "every test parses this constant")]
    "http://127.0.0.1:8080".parse().expect("an address")
}

fn read_optional_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let url: Url = String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() {
        Ok(Some(url))
    } else {
        Err(serde::de::Error::custom(
            "expected an http or https address",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: Option<&str>, variables: &[(&str, &str)]) -> Result<Config, String> {
        let variables = variables
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let config: Config =
            config::load_from(PREFIX, file, variables).map_err(|error| error.to_string())?;
        config.check().map_err(|error| error.to_string())?;
        Ok(config)
    }

    #[test]
    fn the_keys_of_the_launch_contract_are_read() {
        let config = read(
            Some("[worksession.categories]\nsuggested = ['deep work']\nstrict = true\n[identity]\nodd = 1"),
            &[
                ("WORKSESSION__LISTEN", "0.0.0.0:0"),
                ("WORKSESSION__BASE_URL", "https://work.example"),
                ("WORKSESSION__DATABASE__URL", "postgres://u@h/worksession"),
                ("WORKSESSION__DATABASE__POOL_SIZE", "3"),
                ("WORKSESSION__BROKER__URL", "amqp://u:p@h:5672"),
                ("WORKSESSION__BROKER__PREFIX", "t-"),
                ("WORKSESSION__IDENTITY_URL", "http://identity:8080"),
                ("WORKSESSION__IDENTITY_PUBLIC_URL", "https://id.example"),
                ("WORKSESSION__DASHBOARD__CLIENT_ID", "dashboard"),
                ("WORKSESSION__DASHBOARD__CLIENT_SECRET", "hunter2"),
                ("WORKSESSION__AUTH__REMEMBER_MS", "1000"),
                ("WORKSESSION__SECRETS__ENCRYPTION_KEY", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="),
                ("WORKSESSION__RATE_LIMITS__ENABLED", "false"),
                ("WORKSESSION__TRUSTED_PROXIES", "10.0.0.0/8, ::1/128"),
                ("WORKSESSION__HTTP__ALLOWED_CIDRS", "127.0.0.0/8"),
                ("WORKSESSION__HTTP__ALLOW_PLAIN", "true"),
                ("WORKSESSION__DATA_DIR", "/var/lib/holdfast"),
            ],
        )
        .expect("fits");
        let identity_url = config.identity_url.as_ref().expect("was set");
        assert_eq!(identity_url.as_str(), "http://identity:8080/");
        assert_eq!(config.auth.cache_lifetime(), Duration::from_secs(1));
        assert_eq!(config.categories.suggested.0, ["deep work"]);
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn an_invalid_setting_is_named() {
        for (key, value) in [
            ("WORKSESSION__AUTH__REMEMBER_MS", "1001"),
            ("WORKSESSION__AUTH__REMEMBER_MS", "-1"),
            ("WORKSESSION__IDENTITY_URL", "ftp://identity"),
            ("WORKSESSION__IDENTITY_URL", "identity"),
            ("WORKSESSION__BASE_URL", "mailto:a@b"),
            ("WORKSESSION__LISTEN", "here"),
            ("WORKSESSION__AUDIT__HOUR", "24"),
            ("WORKSESSION__LEADERBOARD__REMEMBER_SECONDS", "11"),
            ("WORKSESSION__LIVE__HEARTBEAT_SECONDS", "0"),
            ("WORKSESSION__LIVE__RECHECK_SECONDS", "6"),
            ("WORKSESSION__LIVE__UNREAD_SECONDS", "0"),
            ("WORKSESSION__DASHBOARD__CLIENT_ID", "dashboard"),
            ("WORKSESSION__ODD", "1"),
        ] {
            let message = read(None, &[(key, value)])
                .expect_err(value)
                .to_ascii_lowercase();
            let name = key.rsplit("__").next().unwrap_or(key).to_ascii_lowercase();
            assert!(message.contains(&name), "{key}={value}: {message}");
        }
        let empty = "[worksession.categories]\nsuggested = []\nstrict = true";
        let hidden = "[worksession.categories]\nsuggested = ['co\u{200B}ding']";
        for bad in [empty, hidden] {
            assert!(read(Some(bad), &[]).is_err_and(|message| message.contains("CATEGORIES")));
        }
    }
}
