use std::net::SocketAddr;

use broker::Broker;
use db_kit::{DatabaseUrl, DbError, Pool, PoolOptions};
use service_kit::Clock;
use service_kit::config::ConfigError;
use service_kit::data_dir::DataDirError;
use service_kit::http::InternalSecret;
use service_kit::server::local_address;
use service_kit::start;
use thiserror::Error;
use url::Url;

use crate::Config;

/// Why Holdfast did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A rule of the configuration is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory or a key in it cannot be used.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// A command found no data of a service, [`start::StartError::NothingThere`].
    #[error(transparent)]
    Command(start::StartError),
    /// A database failed, outside a part's own start.
    #[error("database: {0}")]
    Database(#[from] DbError),
    /// A part did not start, with its name.
    #[error("{0}: {1}")]
    Part(&'static str, start::StartError),
}

/// All parts while they run.
#[derive(Debug)]
pub struct RunningParts {
    identity: identity_service::RunningService,
    worksession: worksession_service::RunningService,
    notifier: notifier::Running,
    brokers: [Broker; 3],
}

impl RunningParts {
    /// Returns the address on which the identity area listens.
    #[must_use]
    pub fn identity(&self) -> SocketAddr {
        self.identity.addr()
    }

    /// Returns the address on which the work-session area listens.
    #[must_use]
    pub fn worksession(&self) -> SocketAddr {
        self.worksession.addr()
    }

    /// Returns the address on which the notifier's probes listen.
    #[must_use]
    pub fn notifier(&self) -> SocketAddr {
        self.notifier.addr()
    }

    /// Prints the lines of the launch contract.
    pub fn announce(&self) {
        self.identity.announce();
        self.worksession.announce();
        self.notifier.announce();
    }

    /// Stops all parts at the same time, without losing a request or an event.
    pub async fn stop(self) {
        tokio::join!(
            self.worksession.stop(),
            self.identity.stop(),
            self.notifier.stop()
        );
        for broker in self.brokers {
            broker.close().await;
        }
    }
}

/// Starts the three parts.
///
/// # Errors
/// [`StartError`]; the parts that had started keep running until the process ends, which the caller should bring about.
pub async fn start(mut config: Config, clock: Clock) -> Result<RunningParts, StartError> {
    let of = |part| move |cause| StartError::Part(part, cause);
    let brokers = connect(&config)?;
    let [of_identity, of_worksession, of_notifier] = brokers.clone();

    let deps = identity_service::Deps {
        clock: clock.clone(),
        broker: of_identity,
        has_consumers: true,
    };
    if config.worksession.identity_url.is_none() {
        // The work-session area forwards sign-ins with the client's address. A proxy may call from the same address as it does.
        let inside = InternalSecret::fresh();
        config.identity.inside = Some(inside.clone());
        config.worksession.inside = Some(inside);
    }
    let identity = identity_service::start(config.identity, deps).await;
    let identity = identity.map_err(of("identity"))?;
    if config.worksession.identity_url.is_none() {
        config.worksession.identity_url = Some(from_inside(identity.addr())?);
    }
    if config.worksession.identity_public_url.is_none() {
        // The address that it names in its responses to the dashboard.
        config.worksession.identity_public_url = identity.base_url().parse().ok();
    }
    let deps = notifier::Deps {
        clock: clock.clone(),
        broker: of_notifier,
    };
    let notifier = notifier::start(config.notifier, deps).await;
    let notifier = notifier.map_err(of("notifier"))?;
    let deps = worksession_service::Deps {
        clock,
        broker: of_worksession,
        bodies: Some(identity.bodies().clone()),
    };
    let worksession = worksession_service::start(config.worksession, deps).await;
    Ok(RunningParts {
        identity,
        worksession: worksession.map_err(of("worksession"))?,
        notifier,
        brokers,
    })
}

/// Applies the pending migrations of the parts' databases and returns their versions.
///
/// # Errors
/// [`StartError`]; what was applied before stays.
pub fn migrate(config: &Config) -> Result<Vec<String>, StartError> {
    let mut applied = Vec::new();
    for (database, migrations) in [
        (&config.identity.database.url, identity_service::MIGRATIONS),
        (
            &config.worksession.database.url,
            worksession_service::MIGRATIONS,
        ),
        (&config.notifier.database.url, notifier::MIGRATIONS),
    ] {
        let url: &DatabaseUrl = database
            .as_ref()
            .ok_or_else(|| ConfigError::rule("a database URL is missing"))?;
        let pool = Pool::open(PoolOptions::new(url.clone(), 1));
        applied.extend(db_kit::migrations::run(&pool, migrations)?);
    }
    Ok(applied)
}

fn connect(config: &Config) -> Result<[Broker; 3], StartError> {
    let inside = Broker::memory();
    let [identity, worksession, notifier] = config.brokers()?;
    let connect = |url: &broker::BrokerUrl, prefix: &str, name: &str| match url {
        broker::BrokerUrl::Memory => inside.clone(),
        broker::BrokerUrl::Amqp(_) => Broker::connect(url, prefix, name),
    };
    Ok([
        connect(
            &identity,
            &config.identity.broker.prefix,
            "holdfast identity",
        ),
        connect(
            &worksession,
            &config.worksession.broker.prefix,
            "holdfast worksession",
        ),
        connect(
            &notifier,
            &config.notifier.broker.prefix,
            "holdfast notifier",
        ),
    ])
}

/// Returns the address at which a part is called from inside the process.
fn from_inside(listen: SocketAddr) -> Result<Url, ConfigError> {
    Url::parse(&format!("http://{}", local_address(listen)))
        .map_err(|cause| ConfigError::rule(format!("IDENTITY__LISTEN: {cause}")))
}
