use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{Data, ServiceConfig};
use broker::{Broker, BrokerState, ConsumerHandle, Relay, RelayHandle, RelayOptions};
use db_kit::{DatabaseUrl, DbError, Migrations, Pool, PoolOptions, migrations};
use diesel_migrations::embed_migrations;
use service_kit::config::ConfigError;
use service_kit::data_dir::{self, DataDirError};
use service_kit::guard::{GuardError, GuardOptions, GuardedClient};
use service_kit::metrics::Metrics;
use service_kit::rate_limit::KeyedLimiter;
use service_kit::seal::{SealError, Sealer};
use service_kit::server::{self, ReadyReport, ServerOptions};
use service_kit::{Clock, Problem};
use thiserror::Error;

use crate::auth::{IdentityClient, IdentityClientError};
use crate::config::{Config, default_identity_url};
use crate::health::Probe;
use crate::sessions::Sweeper;
use crate::state::AppState;
use crate::{
    chat_settings, feedback, health, openapi, preferences, projects, sessions, team_projects,
    user_data,
};

/// The name in `listening NAME http://…` and of the SQLite file.
const NAME: &str = "worksession";
/// The key file that every part shares when no key is configured.
const SECRETS_KEY: &str = "secrets.key";
/// Starts of one user at once, and again over each hour.
const STARTS_PER_HOUR: u32 = 120;

/// The schema of the work-session database.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/worksession/postgres"),
    sqlite: &embed_migrations!("../../migrations/worksession/sqlite"),
};

/// What the service is given instead of making it.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The only clock that is trusted.
    pub clock: Clock,
    /// Shared by all parts in the standalone. Whoever made it closes it.
    pub broker: Broker,
}

/// Why the service did not start.
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
    /// The client of the identity service.
    #[error(transparent)]
    Identity(#[from] IdentityClientError),
    /// The client for addresses that users give.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The key that seals hook addresses.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Two figures of one name.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The address cannot be bound.
    #[error("{0}: {1}")]
    Listen(SocketAddr, std::io::Error),
}

/// The service while it answers.
#[derive(Debug)]
pub struct Running {
    server: server::Running,
    feedback: ConsumerHandle,
    sweeper: Sweeper,
    relay: RelayHandle,
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Its address on this machine, as clients write it.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// Prints the line of the launch contract.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Stops without losing a request or an event: what is not published yet stays in the outbox.
    pub async fn stop(self) {
        self.server.stop().await;
        self.feedback.stop().await;
        self.sweeper.stop().await;
        self.relay.stop().await;
    }
}

/// Starts the service: database, relay, consumer, HTTP server.
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
    let listen = config.listen;
    let listener = server::bind(listen).map_err(|cause| StartError::Listen(listen, cause))?;
    let metrics = Metrics::new()?;
    let identity_url = config.identity_url.clone();
    let identity = IdentityClient::new(
        &identity_url.unwrap_or_else(default_identity_url),
        config.auth.remember(),
        deps.clock.clone(),
    )?;
    let sealer = open_sealer(&config)?;
    let guard = GuardedClient::new(GuardOptions {
        allowed_cidrs: config.http.allowed_cidrs.0.clone(),
        allow_plain: config.http.allow_plain,
        ..GuardOptions::default()
    })?;
    let options = server_options(&config, &pool, &deps.broker, &metrics);
    let now = deps.clock.clone();
    let relay_options = RelayOptions::new(NAME, move || now.now_naive());
    let relay = Relay::spawn(
        pool.clone(),
        deps.broker.publisher(),
        relay_options,
        metrics.registry(),
    );
    let limited = config.rate_limits.enabled.unwrap_or(true);
    let state = Data::new(AppState {
        pool: pool.clone(),
        clock: deps.clock.clone(),
        relay: relay.clone(),
        config: Arc::new(config),
        identity,
        broker: deps.broker.clone(),
        sealer,
        guard,
        start_limiter: limited.then(|| {
            KeyedLimiter::new(STARTS_PER_HOUR, Duration::from_secs(3_600), STARTS_PER_HOUR)
        }),
        probe: Probe::default(),
    });
    let sweep_every = Duration::from_secs(state.config.sweep_seconds.max(1));
    let shared = state.clone();
    let server = server::start_on(listener, options, move |routes| configure(routes, &shared))
        .map_err(|cause| StartError::Listen(listen, cause))?;
    let sweeper = Sweeper::spawn(state, sweep_every);
    let feedback = feedback::spawn(&deps.broker, pool, deps.clock);
    Ok(Running {
        server,
        feedback,
        sweeper,
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

fn configure(routes: &mut ServiceConfig, state: &Data<AppState>) {
    routes
        .app_data(state.clone())
        .configure(projects::configure)
        .configure(chat_settings::configure)
        .configure(team_projects::configure)
        .configure(preferences::configure)
        .configure(sessions::configure)
        .configure(user_data::configure)
        .configure(health::configure);
}

fn server_options(
    config: &Config,
    pool: &Pool,
    broker: &Broker,
    metrics: &Metrics,
) -> ServerOptions {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let (pool, broker) = (pool.clone(), broker.clone());
    ServerOptions {
        name: NAME,
        listen: config.listen,
        workers: config.workers.unwrap_or_else(cores),
        limits: config.limits,
        cors_origins: config.cors.allowed_origins.0.clone(),
        trusted_proxies: config.trusted_proxies.0.clone(),
        render: |problem: &Problem| serde_json::json!({ "error": problem.message }),
        metrics: metrics.clone(),
        ready: Arc::new(move || Box::pin(ready(pool.clone(), broker.clone()))),
        openapi: Some(openapi::openapi()),
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
