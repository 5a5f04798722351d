use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use broker::BrokerUrl;
use lettre::message::Mailbox;
use serde::Deserialize;
use service_kit::config::{
    self, BrokerConfig, ConfigError, DatabaseConfig, HttpGuardConfig, SecretText, SecretsConfig,
};
use service_kit::start::Home;

use crate::mail::{SmtpServer, sender_address};

/// The prefix of the service's environment variables; its table in the file is the same in lower case.
pub const PREFIX: &str = "NOTIFIER";

/// The configuration of the notifier: `[notifier]` in the file, `NOTIFIER__…` in the environment.
/// Defaults are those of the standalone.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address at which probes and metrics are answered; port 0 picks one, which the line on standard output tells.
    pub listen: SocketAddr,
    /// Folder for the SQLite file, the key that was not configured, and mails without a mail server; `data` in the
    /// working directory when not set.
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
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmtpConfig {
    /// `smtp://user:pass@host:port` or `smtps://…`; without it mails become files in the data folder.
    ///
    /// User and password are percent-encoded. `smtps://` is encrypted from the first byte (port 465).
    /// `smtp://` (port 587 with a password, else 25) uses STARTTLS when the server offers it, and sends
    /// nothing without it when there is a password and the server is not on this machine. `?tls=required`
    /// asks for that in any case, `?tls=never` forgoes encryption. A certificate is checked wherever
    /// encryption is required.
    pub url: Option<SecretText>,
    /// Who sends, as in `Holdfast <no-reply@example.org>`. Its domain is also what the notifier calls
    /// itself to the mail server, and the end of each Message-ID.
    pub from: String,
    /// Hours after which a mail that could not be delivered is given up: 1 to 168.
    pub give_up_hours: u32,
    /// Seconds that the mail server may take for each step: to be connected to, to let us sign in, to
    /// answer a command, to have taken a mail. 1 to 600.
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
    /// The mail server, if there is one.
    pub(crate) fn server(&self) -> Result<Option<SmtpServer>, ConfigError> {
        // Empty is what a compose file passes on when nothing is set.
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

    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.into())
    }
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
        if !(1..=168).contains(&self.smtp.give_up_hours) {
            return Err(ConfigError::rule(format!(
                "{PREFIX}__SMTP__GIVE_UP_HOURS must be 1 to 168"
            )));
        }
        if !(1..=600).contains(&self.smtp.timeout_seconds) {
            return Err(ConfigError::rule(format!(
                "{PREFIX}__SMTP__TIMEOUT_SECONDS must be 1 to 600"
            )));
        }
        self.smtp.server()?;
        self.smtp.sender()?;
        self.broker.url::<BrokerUrl>(PREFIX).map(drop)
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.data_dir.as_deref())
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
    fn an_empty_mail_server_is_none_and_a_wrong_one_is_named_without_its_value() {
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
