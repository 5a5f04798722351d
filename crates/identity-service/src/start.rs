//! From a configuration to a server that answers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::web::Data;
use broker::{Broker, BrokerState};
use db_kit::{DatabaseUrl, DbError, InvalidDatabaseUrl, Migrations, Pool, PoolOptions};
use diesel_migrations::embed_migrations;
use service_kit::Clock;
use service_kit::config::{ConfigError, SecretKey};
use service_kit::data_dir::{self, DataDirError};
use service_kit::metrics::Metrics;
use service_kit::seal::SealError;
use service_kit::server::{self, ReadyCheck, ReadyReport, ServerOptions};
use thiserror::Error;

use crate::app::App;
use crate::config::Config;
use crate::error::render;
use crate::{accounts, openapi, sessions, teams};

/// The area's tables, for both databases.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/identity/postgres"),
    sqlite: &embed_migrations!("../../migrations/identity/sqlite"),
};

/// What is passed in and not configured.
#[derive(Clone)]
pub struct Deps {
    /// The only source of time.
    pub clock: Clock,
    /// Reported by the readiness probe.
    pub broker: Broker,
}

/// Why the service did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A rule of the configuration is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data folder or a key in it cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The data folder's path makes no database URL.
    #[error(transparent)]
    DatabaseUrl(#[from] InvalidDatabaseUrl),
    /// The database does not answer or a migration failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// The encryption key is of no use.
    #[error(transparent)]
    Key(#[from] SealError),
    /// The signing keys could not be read or made.
    #[error("signing keys: {0}")]
    SigningKeys(String),
    /// A metric could not be registered.
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// The service while it answers.
#[derive(Debug)]
pub struct Running {
    server: server::Running,
    base_url: String,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Its public address, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Prints the line that tells whoever started the process that it answers.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Stops without losing a request.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

/// Starts the service: migrates if configured, reads or makes the keys, and answers.
///
/// # Errors
/// [`StartError`] when it cannot do its work; nothing is left running then.
pub async fn start(config: Config, deps: Deps) -> Result<Running, StartError> {
    config.check()?;
    let pool = open_pool(&config)?;
    if config.database.migrate {
        let pool = pool.clone();
        tokio::task::spawn_blocking(move || migrate(&pool))
            .await
            .map_err(|error| DbError::Unreachable(error.to_string()))??;
    }
    let listener =
        server::bind(config.listen).map_err(|error| StartError::Listen(config.listen, error))?;
    let listen = listener
        .local_addr()
        .map_err(|error| StartError::Listen(config.listen, error))?;
    let base_url = config.public_url(listen);
    let app = App::new(
        &config,
        base_url.clone(),
        pool.clone(),
        deps.clock,
        &encryption_key(&config)?,
    )?;
    if let Err(error) = app.tokens.warm_up().await {
        // Without migrations of its own the service may well start before its tables are there.
        if config.database.migrate {
            return Err(StartError::SigningKeys(error.to_string()));
        }
        log::warn!("the signing keys cannot be read yet: {error}");
    }
    let app = Data::new(app);
    let options = ServerOptions {
        name: "identity",
        listen,
        workers: config
            .workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .max(1),
        limits: config.limits,
        cors_origins: config.cors.allowed_origins.0.clone(),
        trusted_proxies: config.trusted_proxies.0.clone(),
        render,
        metrics: Metrics::new()?,
        ready: ready_check(pool, deps.broker),
        openapi: Some(openapi()),
        drain: Duration::from_secs(config.drain_seconds),
    };
    let server = server::start_on(listener, options, move |cfg| {
        cfg.app_data(app.clone());
        accounts::routes::routes(cfg);
        sessions::routes::routes(cfg);
        teams::routes::routes(cfg);
    })
    .map_err(|error| StartError::Listen(config.listen, error))?;
    Ok(Running { server, base_url })
}

/// Applies the migrations that the database lacks.
///
/// # Errors
/// [`DbError`] when the database is away or a migration fails.
pub fn migrate(pool: &Pool) -> Result<(), DbError> {
    for name in db_kit::migrations::run(pool, MIGRATIONS)? {
        log::info!("applied migration {name}");
    }
    Ok(())
}

/// The pool of the configured database, by default a SQLite file in the data folder.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    let url = match &config.database.url {
        Some(url) => url.clone(),
        None => format!("sqlite://{}/identity.db", data_dir(config)?.display())
            .parse::<DatabaseUrl>()?,
    };
    Ok(Pool::open(PoolOptions::new(url, config.database.pool_size)))
}

fn encryption_key(config: &Config) -> Result<SecretKey, StartError> {
    match &config.keys.encryption_key {
        Some(key) => Ok(key.clone()),
        None => Ok(data_dir::key_file(&data_dir(config)?, "identity-keys.key")?.into()),
    }
}

fn data_dir(config: &Config) -> Result<PathBuf, StartError> {
    Ok(data_dir::resolve(config.data_dir.as_deref())?)
}

/// Ready is who reaches a database with all tables; migrations that were once seen are not looked for again.
fn ready_check(pool: Pool, broker: Broker) -> ReadyCheck {
    let migrated = Arc::new(AtomicBool::new(false));
    Arc::new(move || {
        let (pool, broker, migrated) = (pool.clone(), broker.clone(), Arc::clone(&migrated));
        Box::pin(async move {
            let database = if migrated.load(Ordering::Acquire) {
                pool.ping().await.map(|()| Vec::new())
            } else {
                pool.read(|db| db_kit::migrations::pending(db, MIGRATIONS))
                    .await
            };
            let database = match database {
                Ok(pending) if pending.is_empty() => {
                    migrated.store(true, Ordering::Release);
                    "connected".to_owned()
                }
                Ok(pending) => format!("{} migrations pending", pending.len()),
                Err(_) => "unreachable".to_owned(),
            };
            ReadyReport {
                ready: database == "connected",
                database,
                broker: state(&broker).to_owned(),
            }
        })
    })
}

fn state(broker: &Broker) -> &'static str {
    match broker.state() {
        BrokerState::Memory => "memory",
        BrokerState::Connected => "connected",
        BrokerState::Disconnected => "disconnected",
    }
}
