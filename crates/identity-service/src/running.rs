//! Starts the service from its configuration.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Data;
use broker::{Broker, BrokerState, Relay, RelayHandle, RelayOptions};
use db_kit::{Migrations, Pool};
use diesel_migrations::embed_migrations;
use service_kit::Clock;
use service_kit::http::BodyBudget;
use service_kit::metrics::Metrics;
use service_kit::server::{self, ServerOptions};
use service_kit::start::{self, SECRETS_KEY, StartError};

use crate::app::{App, Secrets};
use crate::change_feed::FeedWatcher;
use crate::config::Config;
use crate::error::render;
use crate::housekeeping::{self, Housekeeping};
use crate::tokens::SigningAlgorithm;
use crate::{
    accounts, admin, audit, credentials, existence_check, export, invitations, oauth, openapi,
    pages, photos, sessions, sso, teams, tokens, totp,
};

/// The migrations of this service's database, for PostgreSQL and SQLite.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/identity/postgres"),
    sqlite: &embed_migrations!("../../migrations/identity/sqlite"),
};

/// The service's name, in the line `listening NAME http://…` and in the name of the SQLite file.
pub(crate) const NAME: &str = "identity";
/// The file that holds the service's own encryption key, if none is configured.
const OWN_KEY: &str = "identity-keys.key";

/// Dependencies that the caller provides, apart from the configuration.
#[derive(Clone)]
pub struct Deps {
    /// The only source of time.
    pub clock: Clock,
    /// The broker for this service's events; the readiness probe reports its state.
    pub broker: Broker,
    /// Whether this process also runs the consumers of the events, as the standalone does.
    pub has_consumers: bool,
}

/// A running identity service.
#[derive(Debug)]
pub struct RunningService {
    server: server::RunningServer,
    base_url: String,
    bodies: BodyBudget,
    relay: Option<RelayHandle>,
    watch: FeedWatcher,
    housekeeping: Housekeeping,
}

impl RunningService {
    /// Returns the address on which it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Returns its public address, without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Returns the memory budget for request bodies, which other servers of this process share.
    #[must_use]
    pub fn bodies(&self) -> &BodyBudget {
        &self.bodies
    }

    /// Prints the line which shows that the service answers requests.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Stops the service; requests in flight finish first.
    pub async fn stop(self) {
        self.server.stop().await;
        self.housekeeping.stop().await;
        self.watch.stop().await;
        if let Some(relay) = self.relay {
            relay.stop().await;
        }
    }
}

/// Starts the service: applies migrations if configured, loads or creates the keys, and listens.
///
/// # Errors
/// [`StartError`] for an invalid configuration, an unusable database or key, or an address in use. Nothing is left running.
pub async fn start(config: Config, deps: Deps) -> Result<RunningService, StartError> {
    config.check()?;
    let pool = open_pool(&config)?;
    if config.database.migrate {
        start::migrate(&pool, MIGRATIONS).await?;
    }
    let listener = start::listen(config.listen)?;
    let listen = listener
        .local_addr()
        .map_err(|error| StartError::Listen(config.listen, error))?;
    let base_url = config.public_url(listen);
    if config.allow_insecure_cookies && config.is_public() {
        log::warn!(
            "sign-ins over plain http are allowed (IDENTITY__ALLOW_INSECURE_COOKIES): anyone on the network path can take over sessions"
        );
    }
    let metrics = Metrics::new()?;
    metrics.watch_pool(&pool)?;
    metrics.show_time_zones()?;
    let app = App::new(
        &config,
        base_url.clone(),
        pool.clone(),
        deps.clock.clone(),
        &secrets(&config)?,
    )?;
    let app = Data::new(app);
    let relay = spawn_relay(&app, &deps, &metrics);
    if let Some(relay) = &relay {
        drop(app.relay.set(relay.clone()));
    }
    if let Err(error) = app.tokens.warm_up().await {
        // Without migrations of its own, the service may start before its tables exist.
        if config.database.migrate {
            return Err(StartError::other(format!("signing keys: {error}")));
        }
        log::warn!("the signing keys cannot be read yet: {error}");
    }
    apply_clients(&app, &config).await?;
    for algorithm in SigningAlgorithm::ALL {
        metrics.register(app.keys(algorithm).reads().clone())?;
    }
    let watch = FeedWatcher::spawn(pool.clone(), Arc::clone(&app.cache))
        .map_err(|error| StartError::other(format!("the change feed's thread: {error}")))?;
    let figures = housekeeping::HousekeepingMetrics::register(&metrics)?;
    let parts = Arc::clone(&app);
    let bodies = app.bodies.clone();
    let options = ServerOptions {
        name: NAME,
        listen,
        base_url: base_url.clone(),
        workers: config
            .workers
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .max(1),
        limits: config.limits.general(),
        bodies: app.bodies.clone(),
        cors_origins: config.cors.allowed_origins.0.clone(),
        origin_rule: Some(oauth::cors::is_registered),
        trusted_proxies: config.trusted_proxies.0.clone(),
        internal_secret: config.inside.clone(),
        hsts_seconds: config.hsts_seconds(),
        render,
        render_page: Some(pages::render_problem),
        metrics,
        ready: start::ready_check(pool, MIGRATIONS, move || deps.broker.report()),
        openapi: Some(openapi),
        drain: Duration::from_secs(config.drain_seconds),
    };
    let server = server::start_on(listener, options, move |cfg| {
        cfg.app_data(app.clone());
        // Routes are tried in order, and those with a parameter are regular expressions: the busiest come first.
        sessions::routes::routes(cfg);
        oauth::routes::introspection_routes(cfg);
        accounts::routes::routes(cfg);
        admin::routes::routes(cfg);
        audit::routes::routes(cfg);
        sso::routes::routes(cfg);
        teams::routes::routes(cfg);
        photos::routes::routes(cfg);
        invitations::routes::routes(cfg);
        export::routes::routes(cfg);
        existence_check::routes::routes(cfg);
        tokens::routes::routes(cfg);
        credentials::routes::routes(cfg);
        totp::routes::routes(cfg);
        oauth::routes::routes(cfg);
        pages::routes(cfg);
    })
    .map_err(|error| StartError::Listen(config.listen, error))?;
    let every = Duration::from_secs(config.housekeeping_seconds.max(1));
    let rotate_after = config.keys.rotate_after();
    Ok(RunningService {
        server,
        housekeeping: Housekeeping::spawn(parts, figures, every, rotate_after),
        base_url,
        bodies,
        relay,
        watch,
    })
}

/// Writes the configured OAuth clients to the database.
async fn apply_clients(app: &App, config: &Config) -> Result<(), StartError> {
    let clients = config.clients()?;
    let none = clients.is_empty();
    match oauth::clients::configured::apply(app, clients).await {
        // Without migrations of its own, the service may start before its tables exist.
        Err(error) if none && !config.database.migrate => {
            log::warn!("the OAuth clients cannot be read yet: {error}");
            Ok(())
        }
        outcome => outcome.map_err(|error| StartError::other(format!("OAuth clients: {error}"))),
    }
}

/// Starts the relay that publishes the outbox. The memory broker is useful only if the consumers run in this process.
/// Otherwise events stay in the outbox until a broker is configured.
fn spawn_relay(app: &Arc<App>, deps: &Deps, metrics: &Metrics) -> Option<RelayHandle> {
    if deps.broker.state() == BrokerState::Memory && !deps.has_consumers {
        log::warn!(
            "no broker is configured (IDENTITY__BROKER__URL): events and mails stay in the outbox"
        );
        return None;
    }
    let clock = deps.clock.clone();
    let mut options = RelayOptions::new(NAME, move || clock.now_naive());
    options.completion = Some(oauth::logout::tokens::completion(Arc::downgrade(app)));
    Some(Relay::spawn(
        app.pool.clone(),
        deps.broker.publisher(),
        options,
        metrics.registry(),
    ))
}

/// Opens the configured database, or a SQLite file in the data directory.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    Ok(config.home().open_pool(&config.database, NAME)?)
}

/// Returns the path of an encryption key that should be in the data directory but is missing. Creates nothing.
pub(crate) fn missing_key(config: &Config) -> Option<PathBuf> {
    let keys = [
        (&config.keys.encryption_key, OWN_KEY),
        (&config.secrets.encryption_key, SECRETS_KEY),
    ];
    let mut unset = keys.into_iter().filter(|(key, _)| key.is_none());
    unset.find_map(|(_, name)| Some(config.home().file(name)).filter(|path| !path.exists()))
}

/// Returns the configured keys, or those in the data directory, which are created on first use.
pub(crate) fn secrets(config: &Config) -> Result<Secrets, StartError> {
    let home = config.home();
    Ok(Secrets {
        own: home.key(config.keys.encryption_key.as_ref(), OWN_KEY)?,
        shared: home.key(config.secrets.encryption_key.as_ref(), SECRETS_KEY)?,
    })
}
