//! The start of a service: it opens and migrates its database, finds its keys and its address, and reports whether it is ready.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use db_kit::{DatabaseUrl, DbError, Migrations, Pool, PoolOptions, migrations};
use thiserror::Error;

use crate::config::{ConfigError, DatabaseConfig, HttpGuardConfig, SecretKey, SecretsConfig};
use crate::data_dir::{self, DataDirError};
use crate::guard::{GuardError, GuardOptions};
use crate::seal::{SealError, SealingKeys};
use crate::server::{self, ReadyCheck, ReadyReport};

/// The file of the key that all parts use to seal for each other, if none is configured.
pub const SECRETS_KEY: &str = "secrets.key";

/// Connections of a command, which works sequentially.
const COMMAND_CONNECTIONS: u32 = 2;

/// Why a service or a command did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A rule of the configuration is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory or a key in it cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database does not answer, or a migration failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A command found no data of a service.
    #[error("there is no {}; pass the --data-dir or configuration of the service, or start the service once", .0.display())]
    NothingThere(PathBuf),
    /// A command found a database of an earlier version, which lacks this many migrations.
    #[error(
        "{0} migrations of the database are pending; apply them first with the command `migrate`"
    )]
    Pending(usize),
    /// The client for addresses that users give could not be created.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The sealing key cannot be used.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Two metrics have the same name.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// A cause that only one service has, as a sentence.
    #[error("{0}")]
    Other(String),
}

impl StartError {
    /// Creates the error of a cause that only one service has.
    pub fn other(cause: impl ToString) -> Self {
        Self::Other(cause.to_string())
    }
}

/// The directory of a service's own files. It is created only when a file is written: with a database server and configured keys
/// it need not exist.
#[derive(Debug, Clone)]
pub struct DataDir(Option<PathBuf>);

impl DataDir {
    /// Returns the configured directory, or the default one.
    #[must_use]
    pub fn new(configured: Option<&Path>) -> Self {
        Self(configured.map(Path::to_path_buf))
    }

    /// Returns the path of a file in the directory, without creating anything.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        let folder = self.0.as_deref();
        folder.unwrap_or(Path::new(data_dir::DEFAULT)).join(name)
    }

    /// Returns the absolute path of the directory, which is created if it is missing.
    ///
    /// # Errors
    /// [`DataDirError`] when it cannot be created.
    pub fn folder(&self) -> Result<PathBuf, DataDirError> {
        data_dir::resolve(self.0.as_deref())
    }

    /// Checks the directory without creating it, if it is configured or the database is in it.
    ///
    /// # Errors
    /// [`DataDirError`] when something else is at its path.
    pub fn check(&self, config: &DatabaseConfig) -> Result<(), DataDirError> {
        match (&self.0, &config.url) {
            (None, Some(_)) => Ok(()),
            (configured, _) => data_dir::locate(configured.as_deref()).map(drop),
        }
    }

    /// Opens the configured database, else the SQLite file `NAME.db` in the directory.
    ///
    /// # Errors
    /// [`DataDirError`] when the directory is needed and cannot be created.
    pub fn open_pool(&self, config: &DatabaseConfig, name: &str) -> Result<Pool, DataDirError> {
        let url = match &config.url {
            Some(url) => url.clone(),
            None => DatabaseUrl::sqlite_file(&self.folder()?.join(format!("{name}.db"))),
        };
        Ok(Pool::open(PoolOptions::new(url, config.pool_size)))
    }

    /// Opens the database of a service for a command. It must exist: a wrong path would otherwise create an empty database.
    ///
    /// # Errors
    /// [`StartError::NothingThere`] when the file does not exist.
    pub fn open_existing_pool(
        &self,
        config: &DatabaseConfig,
        name: &str,
    ) -> Result<Pool, StartError> {
        let usual = || DatabaseUrl::sqlite_file(&self.file(&format!("{name}.db")));
        let url = config.url.clone().unwrap_or_else(usual);
        match url.file().filter(|file| !file.exists()) {
            Some(missing) => Err(StartError::NothingThere(missing)),
            None => Ok(Pool::open(PoolOptions::new(url, COMMAND_CONNECTIONS))),
        }
    }

    /// Returns the configured key, else that of the file `name` in the directory, which is created once.
    ///
    /// # Errors
    /// [`DataDirError`] when the directory or the key in it cannot be used.
    pub fn key(
        &self,
        configured: Option<&SecretKey>,
        name: &str,
    ) -> Result<SecretKey, DataDirError> {
        match configured {
            Some(key) => Ok(key.clone()),
            None => data_dir::key_file(&self.folder()?, name),
        }
    }

    /// Returns the keys that seal and open what the parts send each other; without a configured key, the one in the directory.
    ///
    /// # Errors
    /// [`StartError`] when the directory or the key in it cannot be used.
    pub fn sealing_keys(&self, config: &SecretsConfig) -> Result<SealingKeys, StartError> {
        let old = config.encryption_keys_old.0.iter().map(|key| key.expose());
        let key = self.key(config.encryption_key.as_ref(), SECRETS_KEY)?;
        Ok(SealingKeys::new(key.expose(), old))
    }
}

/// Applies pending migrations, logs them, and returns their versions.
///
/// # Errors
/// [`DbError`] when the database is unreachable or a migration fails.
pub async fn migrate(pool: &Pool, migrations: Migrations) -> Result<Vec<String>, DbError> {
    let pool = pool.clone();
    let applied = tokio::task::spawn_blocking(move || migrations::run(&pool, migrations)).await;
    let applied = applied.map_err(|cause| DbError::Unreachable(cause.to_string()))??;
    for name in &applied {
        log::info!("applied the migration {name}");
    }
    Ok(applied)
}

/// Checks that the database lacks no migration.
///
/// # Errors
/// [`StartError::Pending`] when it does, and [`StartError::Database`] when it is unreachable.
pub async fn check_migrated(pool: &Pool, migrations: Migrations) -> Result<(), StartError> {
    let pending = pool.read(move |db| migrations::pending(db, migrations));
    match pending.await? {
        names if names.is_empty() => Ok(()),
        names => Err(StartError::Pending(names.len())),
    }
}

/// Binds the address of the service. Connections wait until it answers.
///
/// # Errors
/// [`StartError::Listen`], with the address.
pub fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    server::bind(address).map_err(|cause| StartError::Listen(address, cause))
}

/// Returns the configured options of the client for addresses that users give.
#[must_use]
pub fn guard_options(config: &HttpGuardConfig) -> GuardOptions {
    GuardOptions {
        allowed_cidrs: config.allowed_cidrs.0.clone(),
        allow_plain: config.allow_plain,
        ..GuardOptions::default()
    }
}

/// Creates the readiness check: the database must be reachable and have all its tables. Once the tables were seen, they are not
/// checked again. `broker` returns the state of the broker, which is reported but not required.
pub fn ready_check(
    pool: Pool,
    migrations: Migrations,
    broker: impl Fn() -> String + Send + Sync + 'static,
) -> ReadyCheck {
    let migrated = Arc::new(AtomicBool::new(false));
    let broker = Arc::new(broker);
    Arc::new(move || {
        let (pool, migrated) = (pool.clone(), Arc::clone(&migrated));
        let broker = Arc::clone(&broker);
        Box::pin(async move {
            let pending = if migrated.load(Ordering::Acquire) {
                pool.ping().await.map(|()| Vec::new())
            } else {
                pool.read(move |db| migrations::pending(db, migrations))
                    .await
            };
            let ready = pending.as_ref().is_ok_and(Vec::is_empty);
            migrated.fetch_or(ready, Ordering::AcqRel);
            let database = match pending {
                Ok(names) if names.is_empty() => "connected".to_owned(),
                Ok(names) => format!("{} migrations are pending", names.len()),
                Err(_) => "unreachable".to_owned(),
            };
            ReadyReport {
                ready,
                database,
                broker: broker(),
            }
        })
    })
}
