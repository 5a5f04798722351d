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

use crate::auth::{IdentityClient, check_again};
use crate::chore::Chore;
use crate::config::{Config, default_identity_url};
use crate::departures::eraser;
use crate::health::Probe;
use crate::leaderboard::Boards;
use crate::live::Hub;
use crate::rollups::{self, auditor};
use crate::sealers::Sealers;
use crate::sessions::sweeper;
use crate::state::AppState;
use crate::{
    analytics, chat_settings, feedback, health, identity_events, inbox, leaderboard, live, login,
    openapi, pages, preferences, projects, sessions, sync, team_activity, team_projects, user_data,
    webhooks,
};

/// The name in `listening NAME http://…` and of the SQLite file.
pub(crate) const NAME: &str = "worksession";
/// Starts of one user at once, and again over each hour.
const STARTS_PER_HOUR: u32 = 120;
/// Tests of chats and webhooks, and replays, of one user at once, and again over each hour.
const CALLS_BY_HAND_PER_HOUR: u32 = 60;

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
    /// The memory for request bodies, where another part has made it in this process.
    pub bodies: Option<BodyBudget>,
}

/// The service while it answers.
#[derive(Debug)]
pub struct Running {
    server: server::Running,
    feedback: ConsumerHandle,
    identity_events: ConsumerHandle,
    webhooks: ConsumerHandle,
    chores: [Chore; 6],
    live: Arc<Hub>,
    tail: Chore,
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
        // A stream ends only by itself: the server would wait for it.
        self.live.stop();
        self.server.stop().await;
        self.tail.stop().await;
        self.feedback.stop().await;
        self.identity_events.stop().await;
        self.webhooks.stop().await;
        for chore in self.chores {
            chore.stop().await;
        }
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
        start::migrate(&pool, MIGRATIONS).await?;
    }
    // Before anything runs that would have to be stopped again.
    let listen = config.listen;
    let listener = start::listen(listen)?;
    let addr = listener
        .local_addr()
        .map_err(|cause| StartError::Listen(listen, cause))?;
    let metrics = Metrics::new()?;
    metrics.watch_pool(&pool)?;
    let audits = rollups::Figures::register(metrics.registry())?;
    let identity_url = config.identity_url.clone();
    let identity = IdentityClient::new(
        &identity_url.unwrap_or_else(default_identity_url),
        config.auth.remember(),
        deps.clock.clone(),
        &metrics,
        config.inside.as_ref(),
    )
    .map_err(StartError::other)?;
    let base_url = config.public_url(addr).into();
    let keys = config.home().sealing_keys(&config.secrets)?;
    let sealers = Sealers::new(&keys)?;
    let dashboard = pages::dashboard(&config, addr, &keys, &deps.clock)?;
    let guard = GuardedClient::new(start::guard_options(&config.http))?;
    let bodies = deps.bodies;
    let bodies = bodies.unwrap_or_else(|| BodyBudget::new(config.limits.large_bodies_mib));
    let options = server_options(&config, &pool, &deps.broker, &metrics, bodies);
    let now = deps.clock.clone();
    let mut relay_options = RelayOptions::new(NAME, move || now.now_naive());
    relay_options.listened = Some(Arc::new(webhooks::listened));
    let relay = Relay::spawn(
        pool.clone(),
        deps.broker.publisher(),
        relay_options,
        metrics.registry(),
    );
    let boards = Boards::new(config.leaderboard.remember());
    let live = Hub::new(config.live, &metrics)?;
    let limited = config.rate_limits.enabled.unwrap_or(true);
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
        start_limiter: limited.then(|| hourly(STARTS_PER_HOUR)),
        hand_limiter: limited.then(|| hourly(CALLS_BY_HAND_PER_HOUR)),
        user_data: pool.gather(user_data::read),
        starts: sessions::start::starts(&pool),
        submits: sessions::submit::submits(&pool),
        boards,
        live: Arc::clone(&live),
        probe: Probe::default(),
    });
    let sweep_every = Duration::from_secs(state.config.sweep_seconds.max(1));
    let shared = state.clone();
    let mount = move |routes: &mut ServiceConfig| {
        configure(routes, &shared);
        pages::configure(routes, &dashboard);
    };
    let server = server::start_on(listener, options, mount)
        .map_err(|cause| StartError::Listen(listen, cause))?;
    let tail = live::spawn(state.clone());
    let somebody_gone = Arc::new(Notify::new());
    let chores = [
        sweeper::spawn(state.clone(), sweep_every),
        auditor::spawn(state.clone(), audits, sweep_every),
        eraser::spawn(state.clone(), Arc::clone(&somebody_gone), sweep_every),
        webhooks::keeper::spawn(state.clone(), sweep_every),
        inbox::spawn(state.clone(), sweep_every),
        trust_check(state.clone(), sweep_every),
    ];
    let webhooks = webhooks::spawn(&deps.broker, state.clone());
    let feedback = feedback::spawn(&deps.broker, state.clone());
    let identity_events = identity_events::spawn(&deps.broker, state, somebody_gone);
    Ok(Running {
        server,
        feedback,
        identity_events,
        webhooks,
        chores,
        live,
        tail,
        relay,
    })
}

/// Sees at the start, and again each `every`, whether the identity service believes for whom sign-ins are passed on.
fn trust_check(state: Data<AppState>, every: Duration) -> Chore {
    Chore::spawn(every, "identity service", state, async |state| {
        state.identity.check_trust().await;
        Ok(())
    })
}

fn hourly(calls: u32) -> KeyedLimiter<UserId> {
    KeyedLimiter::new(calls, Duration::from_secs(3_600), calls)
}

/// The database that the configuration names, else a file in the data folder.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    Ok(config.home().open_pool(&config.database, NAME)?)
}

fn configure(routes: &mut ServiceConfig, state: &Data<AppState>) {
    routes
        .app_data(state.clone())
        .app_data(Data::new(SlowBodyCheck(check_again)))
        // Paths are tried one after the other, and one with a name in it is an expression: what is asked most comes first.
        .configure(user_data::configure)
        .configure(sessions::configure)
        .configure(projects::configure)
        .configure(chat_settings::configure)
        .configure(team_projects::configure)
        .configure(team_activity::configure)
        .configure(preferences::configure)
        .configure(sync::configure)
        .configure(live::configure)
        .configure(login::configure)
        .configure(analytics::configure)
        .configure(leaderboard::configure)
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
        trusted_proxies: config.trusted_proxies.0.clone(),
        inside: None,
        hsts_seconds: config.hsts_seconds(),
        render: |problem: &Problem| serde_json::json!({ "error": problem.message }),
        render_page: Some(pages::render_problem),
        metrics: metrics.clone(),
        ready: start::ready_check(pool.clone(), MIGRATIONS, move || broker.report()),
        openapi: Some(openapi::openapi),
        drain: Duration::from_secs(config.drain_seconds),
    }
}
