use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use broker::{Broker, BrokerState, ConsumerHandle, Relay, RelayHandle, RelayOptions};
use db_kit::{DatabaseUrl, DbError, Migrations, Pool, PoolOptions, migrations};
use diesel_migrations::embed_migrations;
use service_kit::config::ConfigError;
use service_kit::data_dir::{self, DataDirError};
use service_kit::guard::{GuardError, GuardOptions, GuardedClient};
use service_kit::http::Limits;
use service_kit::metrics::Metrics;
use service_kit::seal::{SealError, Sealer};
use service_kit::server::{self, ReadyReport, ServerOptions};
use service_kit::{Clock, Problem};
use thiserror::Error;

use crate::chat::{self, Ledger, Scheduler, Sender};
use crate::config::Config;
use crate::metrics::Figures;

/// The name in `listening NAME http://…` and of the SQLite file.
const NAME: &str = "notifier";
/// The key file that every part shares when no key is configured.
const SECRETS_KEY: &str = "secrets.key";

/// The schema of the notifier's database.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/notifier/postgres"),
    sqlite: &embed_migrations!("../../migrations/notifier/sqlite"),
};

/// What the notifier is given instead of making it.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The only clock that is trusted.
    pub clock: Clock,
    /// Shared by all parts in the standalone. Whoever made it closes it.
    pub broker: Broker,
}

/// Why the notifier did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A rule of the configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data folder or a key in it.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The database, while migrations were applied.
    #[error("database: {0}")]
    Database(#[from] DbError),
    /// The client for addresses that users give.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The key that opens hook addresses.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Two figures of one name.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address cannot be bound.
    #[error("{0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// The notifier while it works.
#[derive(Debug)]
pub struct Running {
    server: server::Running,
    consumer: ConsumerHandle,
    scheduler: Scheduler,
    relay: RelayHandle,
}

impl Running {
    /// Where probes and metrics listen.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Its address on this machine.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// Prints the line of the launch contract.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Takes nothing more in, finishes what is under way and stops; the rest waits in the database.
    pub async fn stop(self) {
        let work = async {
            self.consumer.stop().await;
            self.scheduler.stop().await;
            self.relay.stop().await;
        };
        tokio::join!(self.server.stop(), work);
    }
}

/// Starts the notifier: database, relay, scheduler, consumer, probes.
///
/// # Errors
/// [`StartError`]; nothing keeps running then.
pub async fn start(config: Config, deps: Deps) -> Result<Running, StartError> {
    config.check()?;
    let pool = open_pool(&config)?;
    if config.database.migrate {
        migrate(&pool).await?;
    }
    // Before anything runs that would have to be stopped again.
    let listener =
        server::bind(config.listen).map_err(|cause| StartError::Listen(config.listen, cause))?;
    let metrics = Metrics::new()?;
    let figures = Figures::register(metrics.registry())?;
    let guard = GuardedClient::new(GuardOptions {
        allowed_cidrs: config.http.allowed_cidrs.0.clone(),
        allow_plain: config.http.allow_plain,
        ..GuardOptions::default()
    })?;
    let sender = Sender::new(guard, open_sealer(&config)?);
    let options = server_options(&config, &pool, &deps.broker, &metrics);
    let server = server::start_on(listener, options, |_| {})
        .map_err(|cause| StartError::Listen(config.listen, cause))?;

    let now = deps.clock.clone();
    let relay_options = RelayOptions::new(NAME, move || now.now_naive());
    let relay = Relay::spawn(
        pool.clone(),
        deps.broker.publisher(),
        relay_options,
        metrics.registry(),
    );
    let ledger = Ledger::new(pool, deps.clock, config.chat, figures, relay.clone());
    let scheduler = Scheduler::spawn(ledger.clone(), sender);
    let consumer = chat::consume(&deps.broker, ledger, scheduler.waker());
    Ok(Running {
        server,
        consumer,
        scheduler,
        relay,
    })
}

/// Opens the database that the configuration names, else a file in the data folder.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    let url = match &config.database.url {
        Some(url) => url.clone(),
        None => DatabaseUrl::sqlite_file(&data_dir(config)?.join(format!("{NAME}.db"))),
    };
    Ok(Pool::open(PoolOptions::new(url, config.database.pool_size)))
}

/// Applies pending migrations and says which.
pub(crate) async fn migrate(pool: &Pool) -> Result<Vec<String>, DbError> {
    let pool = pool.clone();
    let applied = tokio::task::spawn_blocking(move || migrations::run(&pool, MIGRATIONS)).await;
    let applied = applied.map_err(|cause| DbError::Unreachable(cause.to_string()))??;
    for name in &applied {
        log::info!("applied the migration {name}");
    }
    Ok(applied)
}

fn server_options(
    config: &Config,
    pool: &Pool,
    broker: &Broker,
    metrics: &Metrics,
) -> ServerOptions {
    let (pool, broker) = (pool.clone(), broker.clone());
    ServerOptions {
        name: NAME,
        listen: config.listen,
        // Probes and metrics only.
        workers: 1,
        limits: Limits::default(),
        cors_origins: Vec::new(),
        trusted_proxies: Vec::new(),
        render: |problem: &Problem| serde_json::json!({ "error": problem.message }),
        metrics: metrics.clone(),
        ready: Arc::new(move || Box::pin(ready(pool.clone(), broker.clone()))),
        openapi: None,
        drain: Duration::from_secs(config.drain_seconds),
    }
}

async fn ready(pool: Pool, broker: Broker) -> ReadyReport {
    let pending = pool
        .read::<_, DbError, _>(|db| migrations::pending(db, MIGRATIONS))
        .await;
    let database = match &pending {
        Ok(names) if names.is_empty() => "connected".to_owned(),
        Ok(names) => format!("{} migrations are pending", names.len()),
        Err(_) => "unreachable".to_owned(),
    };
    let broker = match broker.state() {
        BrokerState::Memory => "memory",
        BrokerState::Connected => "connected",
        BrokerState::Disconnected => "disconnected",
    };
    ReadyReport {
        ready: pending.is_ok_and(|names| names.is_empty()),
        database,
        broker: broker.to_owned(),
    }
}

fn open_sealer(config: &Config) -> Result<Sealer, StartError> {
    let old = config
        .secrets
        .encryption_keys_old
        .0
        .iter()
        .map(|key| key.expose());
    let key = match &config.secrets.encryption_key {
        Some(key) => key.clone(),
        None => data_dir::key_file(&data_dir(config)?, SECRETS_KEY)?.into(),
    };
    Ok(Sealer::new(key.expose(), old)?)
}

fn data_dir(config: &Config) -> Result<PathBuf, DataDirError> {
    data_dir::resolve(config.data_dir.as_deref())
}
