//! Sending mail.
//!
//! `intake` writes each mail down as a row, sealed as it came, and lets the broker forget it; `ledger` is
//! the only place that moves rows; `work` is what the scheduler runs: it holds a mail, has `sender` open
//! it, set it (`letter`, `message`) and hand it to the mail server (`smtp`) or, where there is none, to a
//! `folder`, and has the ledger write down what came of it. `gate` keeps all mails from knocking at a
//! server that is away.

mod folder;
mod gate;
mod intake;
mod ledger;
mod letter;
mod message;
mod model;
mod queries;
mod sender;
mod smtp;
mod work;

use std::sync::Arc;
use std::time::Duration;

use broker::{Broker, ConsumerHandle};
use db_kit::Pool;
use lettre::message::Mailbox;
use service_kit::Clock;
use service_kit::config::ConfigError;
use service_kit::seal::Sealer;
use tokio::sync::Notify;

pub(crate) use message::sender_address;
pub(crate) use smtp::SmtpServer;

use crate::config::{Config, PREFIX};
use crate::metrics::MailFigures;
use crate::scheduler::Scheduler;
use folder::Folder;
use gate::Gate;
use intake::Intake;
use ledger::{Ledger, Terms};
use sender::{Outlet, Sender};
use smtp::Smtp;
use work::Mailing;

/// How often the configured patience an attempt takes at the most: twice to offer the mail, once to hand
/// it over.
const LONGEST: u32 = 3;

/// What a lease leaves, beyond the longest attempt, for writing down what came of it.
const SLACK: Duration = Duration::from_secs(60);

/// Everything that mails need, before anything runs.
pub(crate) struct Post {
    pool: Pool,
    clock: Clock,
    sealer: Sealer,
    figures: MailFigures,
    from: Mailbox,
    outlet: Outlet,
    terms: Terms,
}

/// Mails on their way.
#[derive(Debug)]
pub(crate) struct Mails {
    consumer: ConsumerHandle,
    scheduler: Scheduler,
}

impl Post {
    /// # Errors
    /// [`ConfigError`] for a mail server or a sender that is none.
    pub(crate) fn new(
        config: &Config,
        pool: Pool,
        clock: Clock,
        sealer: Sealer,
        figures: MailFigures,
    ) -> Result<Self, ConfigError> {
        let smtp = &config.smtp;
        let from = smtp.sender()?;
        let outlet = match smtp.server()? {
            None => Outlet::Folder(Folder::new(config.home())),
            Some(server) => {
                let domain = from.email.domain();
                if domain == "localhost" {
                    log::warn!(
                        "NOTIFIER__SMTP__FROM is {}: most mail servers take nothing from there",
                        from.email
                    );
                }
                let smtp = Smtp::new(server, domain, smtp.patience());
                Outlet::Server(smtp.map_err(|cause| {
                    ConfigError::rule(format!("{PREFIX}__SMTP__URL: no TLS: {cause}"))
                })?)
            }
        };
        Ok(Self {
            pool,
            clock,
            sealer,
            figures,
            from,
            outlet,
            terms: Terms {
                give_up_after: smtp.give_up_after(),
                lease: smtp.patience() * LONGEST + SLACK,
            },
        })
    }

    /// Starts to take mails in and to send them.
    pub(crate) async fn start(self, broker: &Broker) -> Mails {
        let wake = Arc::new(Notify::new());
        let ledger = Ledger::new(self.pool, self.clock.clone(), self.terms, self.figures);
        match ledger.try_locked().await {
            Ok(0) => {}
            Ok(count) => log::info!("{count} mails that could not be opened are tried again"),
            Err(error) => log::warn!("mails wait for the database: {error}"),
        }
        let gate = Gate::new(self.clock, Arc::clone(&wake));
        let sender = Sender::new(self.sealer.clone(), self.from.clone(), self.outlet);
        let mailing = Mailing::new(ledger.clone(), sender, gate);
        let scheduler = Scheduler::spawn(mailing, Arc::clone(&wake));
        let consumer = Intake::new(self.sealer, self.from, ledger, wake).consume(broker);
        Mails {
            consumer,
            scheduler,
        }
    }
}

impl Mails {
    /// Takes nothing more in and finishes what is under way; the rest waits in the database.
    pub(crate) async fn stop(self) {
        self.consumer.stop().await;
        self.scheduler.stop().await;
    }
}
