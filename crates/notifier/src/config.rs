use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use broker::BrokerUrl;
use serde::Deserialize;
use service_kit::config::{
    self, BrokerConfig, ConfigError, DatabaseConfig, HttpGuardConfig, SecretText, SecretsConfig,
};

/// The prefix of the service's environment variables; its table in the file is the same in lower case.
pub const PREFIX: &str = "NOTIFIER";

/// The configuration of the notifier: `[notifier]` in the file, `NOTIFIER__…` in the environment.
/// Defaults are those of the standalone.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where probes and metrics listen; port 0 picks one.
    pub listen: SocketAddr,
    /// For the SQLite file and the key that was not configured.
    pub data_dir: Option<PathBuf>,
    /// The notifier's database.
    pub database: DatabaseConfig,
    /// The broker.
    pub broker: BrokerConfig,
    /// The key that opens hook addresses; the work-session service's own.
    pub secrets: SecretsConfig,
    /// Which addresses may be called.
    pub http: HttpGuardConfig,
    /// How chats are told.
    pub chat: ChatConfig,
    /// The mail server; part of the launch contract.
    pub smtp: SmtpConfig,
    /// Seconds after SIGTERM during which probes are still answered.
    pub drain_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8091)),
            data_dir: None,
            database: DatabaseConfig::default(),
            broker: BrokerConfig::default(),
            secrets: SecretsConfig::default(),
            http: HttpGuardConfig::default(),
            chat: ChatConfig::default(),
            smtp: SmtpConfig::default(),
            drain_seconds: 5,
        }
    }
}

/// `[notifier.chat]`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatConfig {
    /// Milliseconds between two messages to one hook. Chats throttle at about one a second; less is
    /// for a server of your own.
    pub interval_ms: u32,
    /// Hours after which a message that could not be delivered is given up: 1 to 72.
    pub give_up_hours: u32,
}

impl ChatConfig {
    pub(crate) fn interval(self) -> Duration {
        Duration::from_millis(self.interval_ms.into())
    }

    pub(crate) fn give_up_after(self) -> Duration {
        Duration::from_secs(u64::from(self.give_up_hours) * 3_600)
    }
}

impl Default for ChatConfig {
    fn default() -> Self {
        Self {
            interval_ms: 1_000,
            give_up_hours: 12,
        }
    }
}

/// `[notifier.smtp]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpConfig {
    /// `smtp://user:pass@host:port` or `smtps://…`; without it mails become files in the data folder.
    pub url: Option<SecretText>,
}

impl Config {
    /// Reads and checks the configuration; `data_dir` comes from the command line and wins.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn load(file: Option<&Path>, data_dir: Option<PathBuf>) -> Result<Self, ConfigError> {
        let mut config: Self = config::load(PREFIX, file)?;
        config.data_dir = data_dir.or(config.data_dir);
        config.check()?;
        Ok(config)
    }

    /// Rules that a single value's type cannot hold.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=72).contains(&self.chat.give_up_hours) {
            return Err(ConfigError::rule(format!(
                "{PREFIX}__CHAT__GIVE_UP_HOURS must be 1 to 72"
            )));
        }
        self.broker_url().map(drop)
    }

    /// Where the broker is; the standalone's own when nothing is configured.
    pub(crate) fn broker_url(&self) -> Result<BrokerUrl, ConfigError> {
        match &self.broker.url {
            None => Ok(BrokerUrl::Memory),
            Some(url) => url
                .expose()
                .parse()
                .map_err(|cause| ConfigError::rule(format!("{PREFIX}__BROKER__URL: {cause}"))),
        }
    }
}
