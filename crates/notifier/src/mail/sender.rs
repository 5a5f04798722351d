use std::sync::Arc;
use std::time::Duration;

use event_types::{Mail, MailRequested};
use lettre::message::Mailbox;
use secrecy::ExposeSecret;
use service_kit::seal::{SealError, Sealer};
use tokio::time::{sleep, timeout};

use super::breaker::{BreakerEpoch, MailServerBreaker};
use super::folder::Folder;
use super::message::{ComposedMail, compose};
use super::smtp::{ServerHealth, SmtpClient, SmtpFailure, SmtpSession, Step, classify_failure};
use crate::delivery::{Attempt, AttemptOutcome, DeliveryRow, ShutdownSignal};

/// How long a stopping process waits for the response to a mail that has been sent.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(8);

/// Decrypts, composes and sends mails. Recipient and content are in plain text only here.
#[derive(Clone)]
pub(crate) struct MailSender(Arc<Inner>);

struct Inner {
    sealer: Sealer,
    from: Mailbox,
    transport: MailTransport,
}

/// The transport of mails.
pub(super) enum MailTransport {
    Server(SmtpClient),
    Folder(Folder),
}

/// What consecutive mails share.
#[derive(Default)]
pub(super) struct Connection {
    session: Option<SmtpSession>,
    /// Whether a mail has been sent over it.
    used: bool,
}

impl MailSender {
    pub(super) fn new(sealer: Sealer, from: Mailbox, transport: MailTransport) -> Self {
        Self(Arc::new(Inner {
            sealer,
            from,
            transport,
        }))
    }

    /// Sends a mail, within three times the configured timeout.
    pub(super) async fn send(
        &self,
        connection: &mut Connection,
        breaker: &MailServerBreaker,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> AttemptOutcome {
        let Some(row) = attempt.deliveries.first() else {
            return AttemptOutcome::NotAttempted(None);
        };
        let mail = match self.open(row) {
            Ok(mail) => mail,
            Err(outcome) => return outcome,
        };
        let composed = match compose(&mail, &self.0.from, &row.id, row.created_at.and_utc()) {
            Ok(composed) => composed,
            Err(error) => {
                return AttemptOutcome::Refused(format!("The mail cannot be sent: {error}"));
            }
        };
        let epoch = breaker.epoch();
        match &self.0.transport {
            MailTransport::Folder(folder) => store(folder, breaker, epoch, row, composed).await,
            MailTransport::Server(smtp) => {
                let attempt = MailAttempt {
                    smtp,
                    breaker,
                    epoch,
                    stopping,
                };
                attempt.deliver(connection, &composed).await
            }
        }
    }

    fn open(&self, row: &DeliveryRow) -> Result<Mail, AttemptOutcome> {
        let context = MailRequested::seal_context(&row.kind);
        let sealed = row.payload.as_deref().unwrap_or_default();
        let unreadable = || AttemptOutcome::Refused("The mail can no longer be read".to_owned());
        let opened = self.0.sealer.open(&context, sealed).map_err(|error| {
            let SealError::UnknownKey(_) = error else {
                return unreadable();
            };
            log::error!(
                "the mail {} is delayed: it is {error}; set NOTIFIER__SECRETS__ENCRYPTION_KEY to the senders' key, \
                 or add it to NOTIFIER__SECRETS__ENCRYPTION_KEYS_OLD",
                row.id
            );
            AttemptOutcome::NeedsOperator(format!("The mail is {error}"))
        })?;
        serde_json::from_slice(opened.expose_secret()).map_err(|_| unreadable())
    }
}

impl Connection {
    pub(super) async fn close(self) {
        if let Some(session) = self.session {
            session.close().await;
        }
    }
}

async fn store(
    folder: &Folder,
    breaker: &MailServerBreaker,
    epoch: BreakerEpoch,
    row: &DeliveryRow,
    composed: ComposedMail,
) -> AttemptOutcome {
    let at = row.created_at.format("%Y%m%dT%H%M%SZ");
    let name = format!("{at}-{}-{}.eml", row.kind, row.id);
    match folder.write(name.clone(), composed.bytes).await {
        Ok(()) => {
            breaker.record_success();
            let id = row.request_id.as_deref().unwrap_or_default();
            log::info!(request_id:% = id; "no mail server is configured: stored the mail as {name}");
            AttemptOutcome::Delivered
        }
        Err(cause) => {
            if breaker.record_failure(epoch) {
                log::error!("mails are delayed: {cause}");
            }
            AttemptOutcome::NotAttempted(Some("The mail's file cannot be written".to_owned()))
        }
    }
}

/// One attempt to send a mail to the server.
struct MailAttempt<'a> {
    smtp: &'a SmtpClient,
    breaker: &'a MailServerBreaker,
    epoch: BreakerEpoch,
    stopping: &'a ShutdownSignal,
}

impl MailAttempt<'_> {
    async fn deliver(&self, connection: &mut Connection, mail: &ComposedMail) -> AttemptOutcome {
        let offered = tokio::select! {
            biased;
            // No part of the mail has been sent yet.
            () = self.stopping.wait() => {
                connection.session = None;
                return AttemptOutcome::NotAttempted(None);
            }
            offered = timeout(self.smtp.offer_timeout(), self.offer(connection, mail)) => {
                offered.unwrap_or(Err((Step::Connect, SmtpFailure::Silent)))
            }
        };
        let content_sent = match (offered, &mut connection.session) {
            (Ok(()), Some(session)) => tokio::select! {
                content_sent = session.send_content(mail) => content_sent,
                () = self.final_response_timeout() => Err((Step::Content, SmtpFailure::Silent)),
            },
            (Ok(()), None) => Err((Step::Connect, SmtpFailure::Silent)),
            (Err(failed), _) => Err(failed),
        };
        connection.used = true;
        match content_sent {
            Ok(()) => {
                self.breaker.record_success();
                AttemptOutcome::Delivered
            }
            Err((step, failure)) => self.handle_failure(connection, step, &failure).await,
        }
    }

    /// Offers the mail until the server waits for its content, on the existing connection or a new one.
    async fn offer(
        &self,
        connection: &mut Connection,
        mail: &ComposedMail,
    ) -> Result<(), (Step, SmtpFailure)> {
        if let Some(mut session) = connection.session.take() {
            match session.offer(mail).await {
                // The server has reached its limit of mails for one connection, or its idle timeout.
                Err((Step::Sender, SmtpFailure::Code(421, _) | SmtpFailure::Broken(_)))
                    if connection.used => {}
                offered => {
                    connection.session = Some(session);
                    return offered;
                }
            }
        }
        connection.used = false;
        let session = connection.session.insert(self.smtp.open().await?);
        session.offer(mail).await
    }

    async fn final_response_timeout(&self) {
        self.stopping.wait().await;
        sleep(FINAL_RESPONSE_TIMEOUT).await;
    }

    async fn handle_failure(
        &self,
        connection: &mut Connection,
        step: Step,
        failure: &SmtpFailure,
    ) -> AttemptOutcome {
        let classified = classify_failure(step, failure);
        if classified.server == ServerHealth::Healthy {
            self.breaker.record_success();
            if let Some(mut session) = connection.session.take()
                && session.reset().await
            {
                connection.session = Some(session);
            }
            return classified.outcome;
        }
        connection.session = None;
        if self.breaker.record_failure(self.epoch) {
            let reason = match &classified.outcome {
                AttemptOutcome::NotAttempted(Some(reason))
                | AttemptOutcome::Retry { reason, .. } => reason.as_str(),
                _ => "the mail server has a problem",
            };
            if classified.server == ServerHealth::NeedsOperator {
                log::error!(
                    "mails are delayed until NOTIFIER__SMTP__URL or the mail server is corrected: {reason}"
                );
            } else {
                log::warn!("mails are delayed by the mail server: {reason}");
            }
        }
        classified.outcome
    }
}
