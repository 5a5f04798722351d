use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::{Data, ServiceConfig};
use auth_types::UserId;
use broker::{Broker, ConsumerHandle, Relay, RelayHandle, RelayOptions};
use db_kit::{Migrations, Pool};
use diesel_migrations::embed_migrations;
use service_kit::guard::GuardedClient;
use service_kit::http::{BodyBudget, SlowBodyCheck};
use service_kit::metrics::Metrics;
use service_kit::rate_limit::KeyedLimiter;
use service_kit::server::{self, ServerOptions};
use service_kit::start::{self, StartError};
use service_kit::{Clock, Problem};
use tokio::sync::Notify;

use crate::app_state::AppState;
use crate::auth::{IdentityClient, recheck_caller};
use crate::background_job::BackgroundJob;
use crate::config::{Config, default_identity_url};
use crate::erasure::eraser;
use crate::event_stream::StreamHub;
use crate::health::HealthCache;
use crate::leaderboard::LeaderboardCache;
use crate::rollups::{self, auditor};
use crate::sealers::Sealers;
use crate::sessions::sweeper;
use crate::{
    analytics, chat_settings, dashboard, event_stream, feedback, health, identity_events,
    inbox_retention, leaderboard, login, openapi, preferences, projects, sessions, sync,
    team_activity, team_projects, user_data, webhooks,
};

/// The name of the service in `listening NAME http://…` and of its SQLite file.
pub(crate) const NAME: &str = "worksession";
/// Starts that a user can make at once, refilled over each hour.
const STARTS_PER_HOUR: u32 = 120;
/// Tests of chats and webhooks, and replays, that a user can request at once, refilled over each hour.
const REQUESTED_CALLS_PER_HOUR: u32 = 60;

/// The migrations of the work-session database.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/worksession/postgres"),
    sqlite: &embed_migrations!("../../migrations/worksession/sqlite"),
};

/// The dependencies that the caller of [`start()`] creates.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The only source of the current time.
    pub clock: Clock,
    /// The broker, which all parts of the standalone share. Its creator closes it.
    pub broker: Broker,
    /// The memory for request bodies, if another part in this process has created it.
    pub bodies: Option<BodyBudget>,
}

/// The running service.
#[derive(Debug)]
pub struct RunningService {
    server: server::RunningServer,
    feedback: ConsumerHandle,
    identity_events: ConsumerHandle,
    webhooks: ConsumerHandle,
    jobs: [BackgroundJob; 6],
    streams: Arc<StreamHub>,
    update_reader: BackgroundJob,
    relay: RelayHandle,
}

impl RunningService {
    /// Returns the address on which the server listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Returns the address on which the server listens as an `http://` URL.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// Prints the `listening` line of the launch contract.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Stops without losing a request or an event. Unpublished events stay in the outbox.
    pub async fn stop(self) {
        // The server waits for open event streams, and they end only when the hub stops.
        self.streams.stop();
        self.server.stop().await;
        self.update_reader.stop().await;
        self.feedback.stop().await;
        self.identity_events.stop().await;
        self.webhooks.stop().await;
        for job in self.jobs {
            job.stop().await;
        }
        self.relay.stop().await;
    }
}

/// Starts the service: database, relay, HTTP server, background jobs and consumers.
///
/// # Errors
/// [`StartError`] when a part cannot start. The parts that have started stop again.
pub async fn start(config: Config, deps: Deps) -> Result<RunningService, StartError> {
    config.check()?;
    let pool = open_pool(&config)?;
    if config.database.migrate {
        start::migrate(&pool, MIGRATIONS).await?;
    }
    // A failure up to here leaves nothing to stop.
    let listen = config.listen;
    let listener = start::listen(listen)?;
    let addr = listener
        .local_addr()
        .map_err(|cause| StartError::Listen(listen, cause))?;
    let metrics = Metrics::new()?;
    metrics.watch_pool(&pool)?;
    metrics.show_time_zones()?;
    let audits = rollups::RollupAuditMetrics::register(&metrics)?;
    let identity_url = config.identity_url.clone();
    let identity = IdentityClient::new(
        &identity_url.unwrap_or_else(default_identity_url),
        config.auth.cache_lifetime(),
        deps.clock.clone(),
        &metrics,
        config.inside.as_ref(),
    )
    .map_err(StartError::other)?;
    let base_url = config.public_url(addr).into();
    let keys = config.data_dir().sealing_keys(&config.secrets)?;
    let sealers = Sealers::new(&keys)?;
    let dashboard = dashboard::create(&config, addr, &keys, &deps.clock)?;
    let guard = GuardedClient::new(start::guard_options(&config.http))?;
    let bodies = deps.bodies;
    let bodies = bodies.unwrap_or_else(|| BodyBudget::new(config.limits.large_bodies_mib));
    let options = server_options(&config, &pool, &deps.broker, &metrics, bodies);
    let now = deps.clock.clone();
    let mut relay_options = RelayOptions::new(NAME, move || now.now_naive());
    relay_options.bcc_filter = Some(Arc::new(webhooks::list_subscribed));
    let relay = Relay::spawn(
        pool.clone(),
        deps.broker.publisher(),
        relay_options,
        metrics.registry(),
    );
    let boards = LeaderboardCache::new(config.leaderboard.cache_lifetime());
    let streams = StreamHub::new(config.live, &metrics)?;
    let has_limits = config.rate_limits.enabled.unwrap_or(true);
    let state = Data::new(AppState {
        pool: pool.clone(),
        clock: deps.clock.clone(),
        relay: relay.clone(),
        base_url,
        config: Arc::new(config),
        identity,
        broker: deps.broker.clone(),
        sealers,
        guard,
        start_limiter: has_limits.then(|| hourly_limiter(STARTS_PER_HOUR)),
        call_limiter: has_limits.then(|| hourly_limiter(REQUESTED_CALLS_PER_HOUR)),
        user_data: pool.batch_reads(user_data::load),
        starts: sessions::start::new_batcher(&pool),
        submits: sessions::submit::new_batcher(&pool),
        boards,
        streams: Arc::clone(&streams),
        health: HealthCache::default(),
    });
    let sweep_every = Duration::from_secs(state.config.sweep_seconds.max(1));
    let shared = state.clone();
    let mount = move |routes: &mut ServiceConfig| {
        configure(routes, &shared);
        dashboard::configure(routes, &dashboard);
    };
    let server = server::start_on(listener, options, mount)
        .map_err(|cause| StartError::Listen(listen, cause))?;
    let update_reader = event_stream::spawn(state.clone());
    let erasure_recorded = Arc::new(Notify::new());
    let jobs = [
        sweeper::spawn(state.clone(), sweep_every),
        auditor::spawn(state.clone(), audits, sweep_every),
        eraser::spawn(state.clone(), Arc::clone(&erasure_recorded), sweep_every),
        webhooks::retention::spawn(state.clone(), sweep_every),
        inbox_retention::spawn(state.clone(), sweep_every),
        spawn_address_check(state.clone(), sweep_every),
    ];
    let webhooks = webhooks::spawn(&deps.broker, state.clone());
    let feedback = feedback::spawn(&deps.broker, state.clone());
    let identity_events = identity_events::spawn(&deps.broker, state, erasure_recorded);
    Ok(RunningService {
        server,
        feedback,
        identity_events,
        webhooks,
        jobs,
        streams,
        update_reader,
        relay,
    })
}

/// Starts the job that checks whether the identity service trusts the client addresses of forwarded sign-ins.
fn spawn_address_check(state: Data<AppState>, every: Duration) -> BackgroundJob {
    BackgroundJob::spawn(every, "identity service", state, async |state| {
        state.identity.check_address_trust().await;
        Ok(())
    })
}

fn hourly_limiter(calls: u32) -> KeyedLimiter<UserId> {
    KeyedLimiter::new(calls, Duration::from_secs(3_600), calls)
}

/// Opens the configured database, or the SQLite file in the data directory.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    Ok(config.data_dir().open_pool(&config.database, NAME)?)
}

fn configure(routes: &mut ServiceConfig, state: &Data<AppState>) {
    routes
        .app_data(state.clone())
        .app_data(Data::new(SlowBodyCheck(recheck_caller)))
        // actix tries paths in order, and a path with a parameter is a regular expression, so literal paths come first.
        .configure(user_data::configure)
        .configure(preferences::configure)
        .configure(sync::configure)
        .configure(event_stream::configure)
        .configure(login::configure)
        .configure(analytics::configure)
        .configure(leaderboard::configure)
        .configure(team_activity::configure)
        .configure(sessions::configure)
        .configure(projects::configure)
        .configure(chat_settings::configure)
        .configure(team_projects::configure)
        .configure(webhooks::configure)
        .configure(health::configure);
}

fn server_options(
    config: &Config,
    pool: &Pool,
    broker: &Broker,
    metrics: &Metrics,
    bodies: BodyBudget,
) -> ServerOptions {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let broker = broker.clone();
    ServerOptions {
        name: NAME,
        listen: config.listen,
        base_url: config.public_url(config.listen),
        workers: config.workers.unwrap_or_else(cores),
        limits: config.limits,
        bodies,
        cors_origins: config.cors.allowed_origins.0.clone(),
        origin_rule: None,
        trusted_proxies: config.trusted_proxies.0.clone(),
        internal_secret: None,
        hsts_seconds: config.hsts_seconds(),
        render: |problem: &Problem| serde_json::json!({ "error": problem.message }),
        render_page: Some(dashboard::render_problem),
        metrics: metrics.clone(),
        ready: start::ready_check(pool.clone(), MIGRATIONS, move || broker.report()),
        openapi: Some(openapi::openapi),
        drain: Duration::from_secs(config.drain_seconds),
    }
}
