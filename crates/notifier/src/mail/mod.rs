//! Sending of mails.
//!
//! `consumer` stores each mail as a delivery, still sealed. `sender` decrypts it, composes it (`content`, `message`),
//! and sends it to the mail server (`smtp`) or writes it to a `folder`. `breaker` stops all mails while the server is
//! unavailable.

mod breaker;
mod consumer;
mod content;
mod folder;
mod message;
mod queries;
mod sender;
mod smtp;

use std::sync::Arc;
use std::time::Duration;

use broker::Broker;
use lettre::message::Mailbox;
use service_kit::config::ConfigError;
use service_kit::seal::Sealer;
use tokio::sync::Notify;

pub(crate) use message::sender_address;
pub(crate) use smtp::SmtpServer;

use crate::config::{Config, PREFIX};
use crate::delivery::{
    Attempt, AttemptReport, DeliveryRunner, DeliveryStore, Medium, Policy, Reasons, ShutdownSignal,
    StoreContext, message_wait,
};
use crate::metrics::DeliveryMetrics;
use breaker::MailServerBreaker;
use consumer::MailConsumer;
use folder::Folder;
use sender::{Connection, MailSender, MailTransport};
use smtp::SmtpClient;

/// The most connections to the mail server.
const CONNECTIONS: usize = 4;

/// The longest duration of an attempt, as a multiple of the configured timeout: two for offering the mail, and one
/// for its content.
const ATTEMPT_TIMEOUTS: u32 = 3;

/// The part of a lease, beyond the longest attempt, for storing the outcome.
const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// The reason of a mail that expired before its first attempt.
const NOT_ATTEMPTED: &str = "The mail server could not be reached in time";

/// The medium of mails. Each mail is a destination of its own.
#[derive(Clone)]
struct MailMedium {
    policy: Policy,
    sender: MailSender,
    breaker: MailServerBreaker,
}

impl MailMedium {
    fn new(config: &Config, sender: MailSender, breaker: MailServerBreaker) -> Self {
        let smtp = &config.smtp;
        let policy = Policy {
            lease: smtp.timeout() * ATTEMPT_TIMEOUTS + STORE_TIMEOUT,
            interval: Duration::ZERO,
            retry_wait: |tries| Some(message_wait(tries)),
            disable_after: None,
            locked_for: Some(smtp.give_up_after()),
            keeps_payload: false,
            digest: 1,
            reasons: Reasons {
                unknown: NOT_ATTEMPTED,
                retry_after: NOT_ATTEMPTED,
                disabled: NOT_ATTEMPTED,
                removed: None,
            },
        };
        Self {
            policy,
            sender,
            breaker,
        }
    }
}

impl Medium for MailMedium {
    const NAME: &'static str = "mail";
    const DELIVERIES: &'static str = "mails";
    const ONE_EACH: bool = true;

    type Connection = Connection;

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn at_once(&self) -> usize {
        match self.breaker.is_closed() {
            true => CONNECTIONS,
            false => 1,
        }
    }

    fn blocked_for(&self) -> Duration {
        self.breaker.blocked_for()
    }

    fn keeps_connection(&self) -> bool {
        self.breaker.is_closed()
    }

    async fn send(
        &self,
        connection: &mut Connection,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> AttemptReport {
        let sending = (self.sender).send(connection, &self.breaker, attempt, stopping);
        sending.await.into()
    }

    async fn close(&self, connection: Connection) {
        connection.close().await;
    }
}

/// The sender address and the transport, before anything is started.
pub(crate) struct MailService {
    from: Mailbox,
    transport: MailTransport,
}

impl MailService {
    /// # Errors
    /// [`ConfigError`] when the mail server or the sender is not valid, or when TLS cannot be set up.
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        let smtp = &config.smtp;
        let from = smtp.sender()?;
        let transport = match smtp.server()? {
            None => MailTransport::Folder(Folder::new(config.home())),
            Some(server) => {
                let domain = from.email.domain();
                if domain == "localhost" {
                    log::warn!(
                        "NOTIFIER__SMTP__FROM is {}: most mail servers reject this sender",
                        from.email
                    );
                }
                let smtp = SmtpClient::new(server, domain, smtp.timeout());
                MailTransport::Server(smtp.map_err(|cause| {
                    ConfigError::rule(format!("{PREFIX}__SMTP__URL: no TLS: {cause}"))
                })?)
            }
        };
        Ok(Self { from, transport })
    }

    /// Starts to consume and send mails.
    pub(crate) async fn start(
        self,
        config: &Config,
        sealer: Sealer,
        broker: &Broker,
        metrics: DeliveryMetrics,
        context: StoreContext,
    ) -> DeliveryRunner {
        let wake = Arc::new(Notify::new());
        let breaker = MailServerBreaker::new(context.clock.clone(), Arc::clone(&wake));
        let sender = MailSender::new(sealer.clone(), self.from.clone(), self.transport);
        let mails = MailMedium::new(config, sender, breaker);
        let store = DeliveryStore::new(mails, metrics, context);
        let give_up_after = config.smtp.give_up_after();
        // An earlier run could not decrypt them, and the operator may have added the key.
        let locked = store.write(move |tx| {
            let now = tx.at();
            queries::try_locked(tx.db, now, now + give_up_after)
        });
        match locked.await {
            Ok(0) => {}
            Ok(count) => log::info!("{count} mails that could not be opened will be retried"),
            Err(error) => log::warn!("mails are delayed by the database: {error}"),
        }
        let consumer = MailConsumer {
            sealer,
            from: self.from,
            store: store.clone(),
            wake: Arc::clone(&wake),
            give_up_after,
        };
        DeliveryRunner::start(store, wake, consumer.consume(broker))
    }
}
