use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use broker::BrokerUrl;
use db_kit::DatabaseUrl;
use service_kit::config::{
    ConfigError, DatabaseConfig, SecretKey, SecretsConfig, load, refuse_development,
};
use service_kit::crypto::random_bytes;
use service_kit::data_dir;
use service_kit::start::{SECRETS_KEY, StartError as PartError};

use crate::dashboard;
use crate::running::StartError;

/// Redirect origins if none are configured: programs that somebody tries out on this machine.
const LOOPBACK_ORIGINS: [&str; 2] = ["http://localhost:*", "http://127.0.0.1:*"];

/// The configuration of the three parts, adjusted to each other.
#[derive(Debug, Clone)]
pub struct Config {
    /// The table `[identity]`.
    pub identity: identity_service::Config,
    /// The table `[worksession]`.
    pub worksession: worksession_service::Config,
    /// The table `[notifier]`.
    pub notifier: notifier::Config,
    /// The data directory, for everything that is configured to be nowhere else.
    pub data_dir: PathBuf,
    /// Whether the key that the parts share is configured, so that the one in the data directory does not count.
    pub(crate) is_shared_key_configured: bool,
}

impl Config {
    /// Loads the configuration of the parts and adjusts them to each other.
    ///
    /// # Errors
    /// [`StartError`] for an invalid setting, or a data directory that cannot be used.
    pub fn load(file: Option<&Path>, data_dir: Option<&Path>) -> Result<Self, StartError> {
        let parts = Parts::read(file)?;
        let folder = data_dir::resolve(parts.folder(data_dir))?;
        Self::in_folder(parts, folder)
    }

    /// Loads the configuration for a command. If no service has created its data yet, nothing is created now.
    ///
    /// # Errors
    /// Those of [`Config::load`], and [`StartError::Command`] when it finds none.
    pub fn load_made(file: Option<&Path>, data_dir: Option<&Path>) -> Result<Self, StartError> {
        let mut parts = Parts::read(file)?;
        let folder = parts
            .folder(data_dir)
            .unwrap_or(Path::new(data_dir::DEFAULT));
        let folder = folder.to_owned();
        let has_key = parts.shared_key().is_some();
        let key = (!has_key).then(|| folder.join(SECRETS_KEY));
        let wanted = [Some(folder.clone()), key];
        if let Some(missing) = wanted.into_iter().flatten().find(|path| !path.exists()) {
            return Err(StartError::Command(PartError::NothingThere(missing)));
        }
        Self::in_folder(parts, data_dir::resolve(Some(&folder))?)
    }

    /// Loads the configuration for a command that only reads it, without creating anything. If the key that the parts share does
    /// not exist yet, a random one replaces it.
    ///
    /// # Errors
    /// Those of [`Config::load`].
    pub fn load_unmade(file: Option<&Path>, data_dir: Option<&Path>) -> Result<Self, StartError> {
        let mut parts = Parts::read(file)?;
        let folder = data_dir::locate(parts.folder(data_dir))?;
        if parts.shared_key().is_none() && !folder.join(SECRETS_KEY).exists() {
            let key = SecretKey::new(random_bytes());
            for part in parts.secrets() {
                part.encryption_key = Some(key.clone());
            }
        }
        Self::in_folder(parts, folder)
    }

    /// Returns the data directory that the parts would use, without creating it.
    ///
    /// # Errors
    /// [`StartError`] for an invalid setting.
    pub fn folder(file: Option<&Path>, data_dir: Option<&Path>) -> Result<PathBuf, StartError> {
        let parts = Parts::read(file)?;
        let folder = parts.folder(data_dir);
        Ok(folder.unwrap_or(Path::new(data_dir::DEFAULT)).to_owned())
    }

    /// Completes the parts' configuration with what makes them one: one data directory, one key for what they seal for each
    /// other, the addresses of each other, and the dashboard's client. While their public addresses are this machine, it also
    /// eases development.
    fn in_folder(mut parts: Parts, folder: PathBuf) -> Result<Self, StartError> {
        let is_shared_key_configured = parts.shared_key().is_some();
        let key = parts.share_key(&folder)?;
        let Parts {
            mut identity,
            mut worksession,
            mut notifier,
        } = parts;
        dashboard::register(&mut identity, &mut worksession, &key);
        for (database, name) in [
            (&mut identity.database, "identity"),
            (&mut worksession.database, "worksession"),
            (&mut notifier.database, "notifier"),
        ] {
            lay_into(database, &folder, name);
        }
        for own in [
            &mut identity.data_dir,
            &mut worksession.data_dir,
            &mut notifier.data_dir,
        ] {
            own.get_or_insert_with(|| folder.clone());
        }
        if !identity.is_public() && !worksession.is_public() {
            ease_development(&mut identity, &mut worksession);
        }
        // One process has one budget, which the identity area creates.
        let limits = &mut identity.limits;
        // The work-session area refuses its own 0.
        let other = worksession.limits.large_bodies_mib.filter(|mib| *mib > 0);
        limits.large_bodies_mib = limits.large_bodies_mib.or(other);
        let workers = available_parallelism().map_or(1, usize::from).min(2);
        identity.workers.get_or_insert(workers);
        worksession.workers.get_or_insert(workers);
        if worksession.identity_public_url.is_none() {
            worksession
                .identity_public_url
                .clone_from(&identity.base_url);
        }
        let config = Self {
            identity,
            worksession,
            notifier,
            data_dir: folder,
            is_shared_key_configured,
        };
        config.check()?;
        Ok(config)
    }

    fn check(&self) -> Result<(), StartError> {
        self.identity.check()?;
        self.worksession.check()?;
        self.notifier.check()?;
        self.brokers().map(drop)
    }

    /// Rejects settings for development, in all parts as soon as one of them is public.
    ///
    /// # Errors
    /// One line that names all of them.
    pub fn check_exposure(&self) -> Result<(), ConfigError> {
        if !self.identity.is_public() && !self.worksession.is_public() {
            return Ok(());
        }
        let mut values = self.identity.development_values();
        values.extend(self.worksession.development_values());
        refuse_development(&values)
    }

    /// Returns the configured database of each part.
    pub(crate) fn databases(&self) -> [Option<&DatabaseUrl>; 3] {
        [
            self.identity.database.url.as_ref(),
            self.worksession.database.url.as_ref(),
            self.notifier.database.url.as_ref(),
        ]
    }

    /// Returns the broker of each part: RabbitMQ for all of them, or the broker inside the process for all of them.
    pub(crate) fn brokers(&self) -> Result<[BrokerUrl; 3], StartError> {
        let urls = [
            self.identity.broker.url("IDENTITY")?,
            self.worksession.broker.url("WORKSESSION")?,
            self.notifier.broker.url("NOTIFIER")?,
        ];
        let inside = urls
            .iter()
            .filter(|url| matches!(url, BrokerUrl::Memory))
            .count();
        if inside == 0 || inside == urls.len() {
            return Ok(urls);
        }
        Err(ConfigError::rule(
            "IDENTITY__, WORKSESSION__ and NOTIFIER__BROKER__URL must all be memory: or all be amqp:// URLs",
        )
        .into())
    }
}

/// The configuration of the three parts, each by itself.
struct Parts {
    identity: identity_service::Config,
    worksession: worksession_service::Config,
    notifier: notifier::Config,
}

impl Parts {
    fn read(file: Option<&Path>) -> Result<Self, ConfigError> {
        Ok(Self {
            identity: load("IDENTITY", file)?,
            worksession: load("WORKSESSION", file)?,
            notifier: load("NOTIFIER", file)?,
        })
    }

    /// Returns the data directory that the command line or a part names.
    fn folder<'a>(&'a self, data_dir: Option<&'a Path>) -> Option<&'a Path> {
        data_dir
            .or(self.identity.data_dir.as_deref())
            .or(self.worksession.data_dir.as_deref())
            .or(self.notifier.data_dir.as_deref())
    }

    fn secrets(&mut self) -> [&mut SecretsConfig; 3] {
        [
            &mut self.identity.secrets,
            &mut self.worksession.secrets,
            &mut self.notifier.secrets,
        ]
    }

    /// Returns the key that is configured for any of them.
    fn shared_key(&mut self) -> Option<SecretKey> {
        let mut parts = self.secrets().into_iter();
        parts.find_map(|part| part.encryption_key.clone())
    }

    /// Gives all parts the same key. The work-session area seals the addresses of chats and the notifier opens them: with two
    /// keys, every notification would be lost.
    fn share_key(&mut self, folder: &Path) -> Result<SecretKey, StartError> {
        let key = match self.shared_key() {
            Some(key) => key,
            None => data_dir::key_file(folder, SECRETS_KEY)?,
        };
        for part in self.secrets() {
            let own: &SecretKey = part.encryption_key.get_or_insert_with(|| key.clone());
            if own.expose() != key.expose() {
                return Err(ConfigError::rule(
                    "SECRETS__ENCRYPTION_KEY must be the same under IDENTITY__, WORKSESSION__ and NOTIFIER__",
                )
                .into());
            }
        }
        Ok(key)
    }
}

fn lay_into(database: &mut DatabaseConfig, folder: &Path, name: &str) {
    let file = || DatabaseUrl::sqlite_file(&folder.join(format!("{name}.db")));
    database.url.get_or_insert_with(file);
}

/// Makes it easy to try things out on this machine, with settings that would let strangers in anywhere else.
fn ease_development(
    identity: &mut identity_service::Config,
    worksession: &mut worksession_service::Config,
) {
    let redirects = &mut identity.sso.allowed_origins.0;
    if redirects.is_empty() {
        redirects.extend(LOOPBACK_ORIGINS.map(str::to_owned));
    }
    if identity.listen.ip().is_loopback() && worksession.listen.ip().is_loopback() {
        identity.rate_limits.enabled.get_or_insert(false);
        worksession.rate_limits.enabled.get_or_insert(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_are_sent_to_this_machine_unless_origins_are_listed() {
        let folder = tempfile::tempdir().expect("a folder");
        let origins = |identity: identity_service::Config| {
            let (worksession, notifier) = Default::default();
            let parts = Parts {
                identity,
                worksession,
                notifier,
            };
            let config = Config::in_folder(parts, folder.path().to_owned());
            config.expect("fits").identity.sso.allowed_origins.0
        };
        assert_eq!(origins(Default::default()), LOOPBACK_ORIGINS);
        let mut listed = identity_service::Config::default();
        listed.sso.allowed_origins.0 = vec!["https://app.example.com".to_owned()];
        assert_eq!(origins(listed), ["https://app.example.com"]);
        for public in ["https://id.example.com", "http://192.168.1.5:8080"] {
            let public = identity_service::Config {
                base_url: public.parse().ok(),
                ..Default::default()
            };
            assert!(origins(public).is_empty());
        }
    }
}
