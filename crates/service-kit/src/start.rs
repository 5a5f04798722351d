//! What every service does before it answers: open its database and bring it up to date, find its keys
//! and its address, and say whether it is ready.

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

/// The file of the key that all parts seal with for each other, when none is configured.
pub const SECRETS_KEY: &str = "secrets.key";

/// Connections of a command, which does one thing after the other.
const COMMAND_CONNECTIONS: u32 = 2;

/// Why a service, or a command beside it, did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A rule of the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data folder or a key in it.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database does not answer, or a migration failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// A command where no service has been.
    #[error("there is no {}; give the service's --data-dir or configuration, or start the service once", .0.display())]
    NothingThere(PathBuf),
    /// A command on a database of an earlier version: how many migrations it lacks.
    #[error(
        "{0} migrations of the database are pending; apply them first, with the command `migrate`"
    )]
    Pending(usize),
    /// The client for addresses that users give.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The key that seals.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Two figures of one name.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// A cause that only one service has; a sentence.
    #[error("{0}")]
    Other(String),
}

impl StartError {
    /// A cause that only one service has.
    pub fn other(cause: impl ToString) -> Self {
        Self::Other(cause.to_string())
    }
}

/// Where a service's own files are. Made only when something is put there: with a database server and
/// configured keys it need not exist.
#[derive(Debug, Clone)]
pub struct Home(Option<PathBuf>);

impl Home {
    /// The configured folder, or the usual one.
    #[must_use]
    pub fn new(configured: Option<&Path>) -> Self {
        Self(configured.map(Path::to_path_buf))
    }

    /// A file in the folder, whether or not it is there; nothing is made.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        let folder = self.0.as_deref();
        folder.unwrap_or(Path::new(data_dir::DEFAULT)).join(name)
    }

    /// The folder's absolute path; it is there afterwards.
    ///
    /// # Errors
    /// [`DataDirError`] when it cannot be made.
    pub fn folder(&self) -> Result<PathBuf, DataDirError> {
        data_dir::resolve(self.0.as_deref())
    }

    /// The database that is configured, else the SQLite file `NAME.db` in the folder.
    ///
    /// # Errors
    /// [`DataDirError`] when the folder is needed and cannot be made.
    pub fn open_pool(&self, config: &DatabaseConfig, name: &str) -> Result<Pool, DataDirError> {
        let url = match &config.url {
            Some(url) => url.clone(),
            None => DatabaseUrl::sqlite_file(&self.folder()?.join(format!("{name}.db"))),
        };
        Ok(Pool::open(PoolOptions::new(url, config.pool_size)))
    }

    /// The same for a command beside the service: a wrong path would otherwise become an empty database there.
    ///
    /// # Errors
    /// [`StartError::NothingThere`].
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

    /// The key that is configured, else that of the file `name` in the folder, which is made once.
    ///
    /// # Errors
    /// [`DataDirError`] when the folder or the key in it is of no use.
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

    /// Seal and open what the parts tell each other; without a configured key the one kept in the folder.
    ///
    /// # Errors
    /// [`StartError`] when the folder or the key in it is of no use.
    pub fn sealing_keys(&self, config: &SecretsConfig) -> Result<SealingKeys, StartError> {
        let old = config.encryption_keys_old.0.iter().map(|key| key.expose());
        let key = self.key(config.encryption_key.as_ref(), SECRETS_KEY)?;
        Ok(SealingKeys::new(key.expose(), old))
    }
}

/// Applies pending migrations and says which.
///
/// # Errors
/// [`DbError`] when the database is away or a migration fails.
pub async fn migrate(pool: &Pool, migrations: Migrations) -> Result<Vec<String>, DbError> {
    let pool = pool.clone();
    let applied = tokio::task::spawn_blocking(move || migrations::run(&pool, migrations)).await;
    let applied = applied.map_err(|cause| DbError::Unreachable(cause.to_string()))??;
    for name in &applied {
        log::info!("applied the migration {name}");
    }
    Ok(applied)
}

/// Refuses a database that lacks migrations.
///
/// # Errors
/// [`StartError::Pending`], and [`DbError`] when the database is away.
pub async fn check_migrated(pool: &Pool, migrations: Migrations) -> Result<(), StartError> {
    let pending = pool.read(move |db| migrations::pending(db, migrations));
    match pending.await? {
        names if names.is_empty() => Ok(()),
        names => Err(StartError::Pending(names.len())),
    }
}

/// Takes the service's address; who connects before it answers waits.
///
/// # Errors
/// [`StartError::Listen`], with the address.
pub fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    server::bind(address).map_err(|cause| StartError::Listen(address, cause))
}

/// The configured rules of the client for addresses that users give.
#[must_use]
pub fn guard_options(config: &HttpGuardConfig) -> GuardOptions {
    GuardOptions {
        allowed_cidrs: config.allowed_cidrs.0.clone(),
        allow_plain: config.allow_plain,
        ..GuardOptions::default()
    }
}

/// Ready is who reaches a database that has all its tables. Once they were seen they are not looked for
/// again. `broker` says how the broker is, which is reported and not required.
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
