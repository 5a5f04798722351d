use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use broker::BrokerUrl;
use lettre::message::Mailbox;
use serde::Deserialize;
use service_kit::config::{
    self, BrokerConfig, ConfigError, DatabaseConfig, HttpGuardConfig, SecretText, SecretsConfig,
    refuse_zeros,
};
use service_kit::start::DataDir;

use crate::mail::{SmtpServer, sender_address};

/// The prefix of the environment variables. The table in the configuration file has the same name in lower case.
pub const PREFIX: &str = "NOTIFIER";

/// The configuration of the notifier: `[notifier]` in the file, `NOTIFIER__…` in the environment. The defaults are
/// those of the standalone.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address for probes and metrics. With port 0 the system chooses a port, which standard output reports.
    pub listen: SocketAddr,
    /// The data directory, for the SQLite file, the generated key, and mails if no mail server is configured. If
    /// not set, it is `data` in the working directory.
    pub data_dir: Option<PathBuf>,
    /// The notifier's database.
    pub database: DatabaseConfig,
    /// The message broker.
    pub broker: BrokerConfig,
    /// The key that decrypts chat and webhook addresses and mails. All parts have the same one.
    pub secrets: SecretsConfig,
    /// The addresses that may be called.
    pub http: HttpGuardConfig,
    /// Messages to chats.
    pub chat: ChatConfig,
    /// The mail server.
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
    /// Milliseconds between two messages to one chat address. Most chats accept about one message per second; use
    /// less only for your own server.
    pub interval_ms: u32,
    /// Hours after which an undelivered message fails: 1 to 72.
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
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpConfig {
    /// `smtp://user:pass@host:port` or `smtps://…`. If not set, mails are written as files into the data directory.
    /// User and password are percent-encoded. `smtps://` encrypts from the first byte (port 465). `smtp://` (port
    /// 587 with a password, otherwise 25) uses STARTTLS if the server offers it. With a password and a server on
    /// another machine, STARTTLS is required. `?tls=required` always requires it, and `?tls=never` disables
    /// encryption. Certificates are verified where encryption is required.
    pub url: Option<SecretText>,
    /// The sender of e-mails, such as `Holdfast <no-reply@example.org>`. Its domain is also the notifier's name in the
    /// SMTP greeting, and the domain of each Message-ID.
    pub from: String,
    /// Hours after which an undelivered e-mail fails: 1 to 168.
    pub give_up_hours: u32,
    /// Seconds that the mail server may take for each step, such as the connection, the sign-in, a command or the
    /// content of a mail: 1 to 600.
    pub timeout_seconds: u32,
}

impl Default for SmtpConfig {
    fn default() -> Self {
        Self {
            url: None,
            from: "Holdfast <no-reply@localhost>".to_owned(),
            give_up_hours: 72,
            timeout_seconds: 60,
        }
    }
}

impl SmtpConfig {
    /// Returns the mail server, or none if none is configured.
    pub(crate) fn server(&self) -> Result<Option<SmtpServer>, ConfigError> {
        // A compose file passes an empty value when the variable is not set.
        let url = self.url.as_ref().map(|url| url.expose().trim());
        let Some(url) = url.filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let server = url.parse();
        server
            .map(Some)
            .map_err(|cause| ConfigError::rule(format!("{PREFIX}__SMTP__URL: {cause}")))
    }

    pub(crate) fn sender(&self) -> Result<Mailbox, ConfigError> {
        sender_address(&self.from).ok_or_else(|| {
            ConfigError::rule(format!(
                "{PREFIX}__SMTP__FROM must be a mail address, such as Holdfast <no-reply@example.org>"
            ))
        })
    }

    pub(crate) fn give_up_after(&self) -> Duration {
        Duration::from_secs(u64::from(self.give_up_hours) * 3_600)
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }
}

impl Config {
    /// Loads and checks the configuration. `data_dir` from the command line takes precedence.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn load(file: Option<&Path>, data_dir: Option<PathBuf>) -> Result<Self, ConfigError> {
        let mut config: Self = config::load(PREFIX, file)?;
        config.data_dir = data_dir.or(config.data_dir);
        config.check()?;
        Ok(config)
    }

    /// Checks the rules that the type of a single value cannot express.
    ///
    /// # Errors
    /// One line that names the key.
    pub fn check(&self) -> Result<(), ConfigError> {
        let is_zero = self.database.pool_size == 0;
        refuse_zeros(PREFIX, &[("DATABASE__POOL_SIZE", is_zero)])?;
        for (key, value, most) in [
            ("CHAT__GIVE_UP_HOURS", self.chat.give_up_hours, 72),
            ("SMTP__GIVE_UP_HOURS", self.smtp.give_up_hours, 168),
            ("SMTP__TIMEOUT_SECONDS", self.smtp.timeout_seconds, 600),
        ] {
            if !(1..=most).contains(&value) {
                let rule = format!("{PREFIX}__{key} must be 1 to {most}");
                return Err(ConfigError::rule(rule));
            }
        }
        self.smtp.server()?;
        self.smtp.sender()?;
        self.broker.url::<BrokerUrl>(PREFIX).map(drop)
    }

    pub(crate) fn home(&self) -> DataDir {
        DataDir::new(self.data_dir.as_deref())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn smtp(url: &str) -> Config {
        let mut config = Config::default();
        config.smtp.url = Some(url.into());
        config
    }

    #[test]
    fn an_empty_smtp_url_is_none_and_an_invalid_one_is_reported_without_its_value() {
        assert!(smtp(" ").smtp.server().unwrap().is_none());
        assert!(
            smtp("smtp://mail.example.org")
                .smtp
                .server()
                .unwrap()
                .is_some()
        );
        let refusal = smtp("http://user:hunter2@mail")
            .check()
            .unwrap_err()
            .to_string();
        assert!(refusal.contains("NOTIFIER__SMTP__URL"), "{refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}
