use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use broker::{Broker, Relay, RelayHandle, RelayOptions};
use db_kit::{Migrations, Pool};
use diesel_migrations::embed_migrations;
use service_kit::guard::GuardedClient;
use service_kit::http::{BodyBudget, Limits};
use service_kit::metrics::Metrics;
use service_kit::seal::Purpose;
use service_kit::server::{self, ServerOptions};
use service_kit::start::{self, StartError};
use service_kit::{Clock, Problem};
use tokio::sync::Notify;

use crate::broker_monitor::BrokerMonitor;
use crate::chat::{self, AddressPacer, ChatMedium};
use crate::config::Config;
use crate::delivery::{DeliveryRunner, DeliveryStore, StoreContext};
use crate::logouts::{self, LogoutMedium, LogoutSender};
use crate::mail::MailService;
use crate::metrics::DeliveryMetrics;
use crate::webhooks::{self, WebhookMedium};

/// The name in the line `listening NAME http://…` and of the SQLite file.
pub(crate) const NAME: &str = "notifier";

/// The migrations of the notifier's database.
pub const MIGRATIONS: Migrations = Migrations {
    postgres: &embed_migrations!("../../migrations/notifier/postgres"),
    sqlite: &embed_migrations!("../../migrations/notifier/sqlite"),
};

/// What the notifier gets from its caller.
#[derive(Debug, Clone)]
pub struct Deps {
    /// The clock for all times.
    pub clock: Clock,
    /// In the standalone, all parts share it. Its creator closes it.
    pub broker: Broker,
}

/// A running notifier.
#[derive(Debug)]
pub struct Running {
    server: server::RunningServer,
    chats: DeliveryRunner,
    mails: DeliveryRunner,
    webhooks: DeliveryRunner,
    logouts: DeliveryRunner,
    relay: RelayHandle,
    _broker_monitor: BrokerMonitor,
}

impl Running {
    /// Returns the address of probes and metrics.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Returns the base URL on this machine.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// Prints the line `listening notifier http://…`.
    pub fn announce(&self) {
        self.server.announce();
    }

    /// Stops consuming, finishes the attempts in progress and stops. Everything else stays in the database.
    pub async fn stop(self) {
        tokio::join!(
            self.server.stop(),
            self.chats.stop(),
            self.webhooks.stop(),
            self.logouts.stop(),
            self.mails.stop()
        );
        // Last, so that it publishes the events of the others.
        self.relay.stop().await;
    }
}

/// Starts the notifier: database, relay, schedulers, consumers and probes.
///
/// # Errors
/// [`StartError`] when a part cannot start. Nothing is left running then.
pub async fn start(config: Config, deps: Deps) -> Result<Running, StartError> {
    config.check()?;
    let pool = open_pool(&config)?;
    if config.database.migrate {
        start::migrate(&pool, MIGRATIONS).await?;
    }
    // First, so that nothing has to be stopped if it fails.
    let listener = start::listen(config.listen)?;
    let metrics = Metrics::new()?;
    metrics.watch_pool(&pool)?;
    let guard = GuardedClient::new(start::guard_options(&config.http))?;
    let keys = config.home().sealing_keys(&config.secrets)?;
    let targets = keys.sealer(Purpose::Webhooks)?;
    let sender = webhooks::WebhookSender::new(guard.clone(), targets, deps.clock.clone());
    let calls = keys.sealer(Purpose::Logouts)?;
    let logout_sender = LogoutSender::new(guard.clone(), calls, deps.clock.clone());
    let pacer = AddressPacer::new(deps.clock.clone(), config.chat.interval());
    let chat_sender = chat::ChatSender::new(guard, keys.sealer(Purpose::Chats)?, pacer);
    let mails = keys.sealer(Purpose::Mails)?;
    let mail_service = MailService::new(&config)?;
    let chat_metrics = DeliveryMetrics::chats(&metrics)?;
    let mail_metrics = DeliveryMetrics::mails(&metrics)?;
    let webhook_metrics = DeliveryMetrics::webhooks(&metrics)?;
    let logout_metrics = DeliveryMetrics::logouts(&metrics)?;
    let broker_monitor = BrokerMonitor::start(deps.broker.clone(), &metrics)?;
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
    let context = StoreContext {
        pool,
        clock: deps.clock,
        relay: relay.clone(),
    };
    let (broker, wake) = (&deps.broker, Arc::new(Notify::new()));
    let store = DeliveryStore::new(WebhookMedium { sender }, webhook_metrics, context.clone());
    let consumer = webhooks::consume(broker, store.clone(), Arc::clone(&wake));
    let webhooks = DeliveryRunner::start(store, wake, consumer);
    let wake = Arc::new(Notify::new());
    let medium = LogoutMedium {
        sender: logout_sender,
    };
    let store = DeliveryStore::new(medium, logout_metrics, context.clone());
    let consumer = logouts::consume(broker, store.clone(), Arc::clone(&wake));
    let logouts = DeliveryRunner::start(store, wake, consumer);
    let wake = Arc::new(Notify::new());
    let store = DeliveryStore::new(
        ChatMedium::new(config.chat, chat_sender),
        chat_metrics,
        context.clone(),
    );
    let consumer = chat::consume(broker, store.clone(), Arc::clone(&wake));
    let chats = DeliveryRunner::start(store, wake, consumer);
    let mails = mail_service
        .start(&config, mails, broker, mail_metrics, context)
        .await;
    Ok(Running {
        server,
        chats,
        mails,
        webhooks,
        logouts,
        relay,
        _broker_monitor: broker_monitor,
    })
}

/// Opens the configured database, or else the file in the data folder.
pub(crate) fn open_pool(config: &Config) -> Result<Pool, StartError> {
    Ok(config.home().open_pool(&config.database, NAME)?)
}

fn server_options(
    config: &Config,
    pool: &Pool,
    broker: &Broker,
    metrics: &Metrics,
) -> ServerOptions {
    let broker = broker.clone();
    ServerOptions {
        name: NAME,
        listen: config.listen,
        base_url: String::new(),
        // There are only probes and metrics.
        workers: 1,
        limits: Limits::default(),
        bodies: BodyBudget::new(None),
        cors_origins: Vec::new(),
        origin_rule: None,
        trusted_proxies: Vec::new(),
        internal_secret: None,
        hsts_seconds: 0,
        render: |problem: &Problem| serde_json::json!({ "error": problem.message }),
        render_page: None,
        metrics: metrics.clone(),
        ready: start::ready_check(pool.clone(), MIGRATIONS, move || broker.report()),
        openapi: None,
        drain: Duration::from_secs(config.drain_seconds),
    }
}
