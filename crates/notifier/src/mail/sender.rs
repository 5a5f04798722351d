use std::sync::Arc;
use std::time::Duration;

use event_types::{Mail, MailRequested};
use lettre::message::Mailbox;
use secrecy::ExposeSecret;
use service_kit::seal::{SealError, Sealer};
use tokio::time::{sleep, timeout};

use super::folder::Folder;
use super::gate::{BreakerEpoch, MailServerBreaker};
use super::message::{ComposedMail, compose};
use super::smtp::{ServerHealth, SmtpClient, SmtpFailure, SmtpSession, Step, verdict};
use crate::delivery::{Attempt, AttemptOutcome, DeliveryRow, ShutdownSignal};

/// How long a stopping process waits for the response to a mail that has been sent.
const LAST_WORD: Duration = Duration::from_secs(8);

/// Decrypts, composes and sends mails. Recipient and content are in plain text only here.
#[derive(Clone)]
pub(crate) struct MailSender(Arc<Inner>);

struct Inner {
    sealer: Sealer,
    from: Mailbox,
    outlet: MailTransport,
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
    pub(super) fn new(sealer: Sealer, from: Mailbox, outlet: MailTransport) -> Self {
        Self(Arc::new(Inner {
            sealer,
            from,
            outlet,
        }))
    }

    /// Sends a mail, within three times the configured timeout.
    pub(super) async fn send(
        &self,
        connection: &mut Connection,
        gate: &MailServerBreaker,
        attempt: &Attempt,
        stopping: &ShutdownSignal,
    ) -> AttemptOutcome {
        let Some(row) = attempt.deliveries.first() else {
            return AttemptOutcome::NotAttempted(None);
        };
        let mail = match self.open(row) {
            Ok(mail) => mail,
            Err(answer) => return answer,
        };
        let composed = match compose(&mail, &self.0.from, &row.id, row.created_at.and_utc()) {
            Ok(composed) => composed,
            Err(unfit) => {
                return AttemptOutcome::Refused(format!("The mail cannot be sent: {unfit}"));
            }
        };
        let round = gate.round();
        match &self.0.outlet {
            MailTransport::Folder(folder) => keep(folder, gate, round, row, composed).await,
            MailTransport::Server(smtp) => {
                let call = MailAttempt {
                    smtp,
                    gate,
                    round,
                    stopping,
                };
                call.deliver(connection, &composed).await
            }
        }
    }

    fn open(&self, row: &DeliveryRow) -> Result<Mail, AttemptOutcome> {
        let context = MailRequested::seal_context(&row.kind);
        let sealed = row.payload.as_deref().unwrap_or_default();
        let lost = || AttemptOutcome::Refused("The mail cannot be read any more".to_owned());
        let opened = self.0.sealer.open(&context, sealed).map_err(|error| {
            let SealError::UnknownKey(_) = error else {
                return lost();
            };
            log::error!(
                "the mail {} is delayed: it is {error}; set NOTIFIER__SECRETS__ENCRYPTION_KEY to the senders' key, \
                 or add it to NOTIFIER__SECRETS__ENCRYPTION_KEYS_OLD",
                row.id
            );
            AttemptOutcome::NeedsOperator(format!("The mail is {error}"))
        })?;
        serde_json::from_slice(opened.expose_secret()).map_err(|_| lost())
    }
}

impl Connection {
    pub(super) async fn close(self) {
        if let Some(session) = self.session {
            session.close().await;
        }
    }
}

async fn keep(
    folder: &Folder,
    gate: &MailServerBreaker,
    round: BreakerEpoch,
    row: &DeliveryRow,
    composed: ComposedMail,
) -> AttemptOutcome {
    let at = row.created_at.format("%Y%m%dT%H%M%SZ");
    let name = format!("{at}-{}-{}.eml", row.kind, row.id);
    match folder.put(name.clone(), composed.bytes).await {
        Ok(()) => {
            gate.heard();
            let id = row.request_id.as_deref().unwrap_or_default();
            log::info!(request_id:% = id; "no mail server is configured: stored the mail as {name}");
            AttemptOutcome::Delivered
        }
        Err(cause) => {
            if gate.trouble(round) {
                log::error!("mails are delayed: {cause}");
            }
            AttemptOutcome::NotAttempted(Some("The mail's file cannot be written".to_owned()))
        }
    }
}

/// One attempt to send a mail to the server.
struct MailAttempt<'a> {
    smtp: &'a SmtpClient,
    gate: &'a MailServerBreaker,
    round: BreakerEpoch,
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
            offered = timeout(self.smtp.patience_to_offer(), self.offer(connection, mail)) => {
                offered.unwrap_or(Err((Step::Connect, SmtpFailure::Silent)))
            }
        };
        let handed_over = match (offered, &mut connection.session) {
            (Ok(()), Some(session)) => tokio::select! {
                handed_over = session.hand_over(mail) => handed_over,
                () = self.last_word() => Err((Step::Content, SmtpFailure::Silent)),
            },
            (Ok(()), None) => Err((Step::Connect, SmtpFailure::Silent)),
            (Err(failed), _) => Err(failed),
        };
        connection.used = true;
        match handed_over {
            Ok(()) => {
                self.gate.heard();
                AttemptOutcome::Delivered
            }
            Err((step, failure)) => self.conclude(connection, step, &failure).await,
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

    async fn last_word(&self) {
        self.stopping.wait().await;
        sleep(LAST_WORD).await;
    }

    async fn conclude(
        &self,
        connection: &mut Connection,
        step: Step,
        failure: &SmtpFailure,
    ) -> AttemptOutcome {
        let verdict = verdict(step, failure);
        if verdict.server == ServerHealth::Fine {
            self.gate.heard();
            if let Some(mut session) = connection.session.take()
                && session.reset().await
            {
                connection.session = Some(session);
            }
            return verdict.answer;
        }
        connection.session = None;
        if self.gate.trouble(self.round) {
            let reason = match &verdict.answer {
                AttemptOutcome::NotAttempted(Some(reason))
                | AttemptOutcome::Later { reason, .. } => reason.as_str(),
                _ => "the mail server has a problem",
            };
            if verdict.server == ServerHealth::NeedsOperator {
                log::error!(
                    "mails are delayed until NOTIFIER__SMTP__URL or the mail server is corrected: {reason}"
                );
            } else {
                log::warn!("mails are delayed by the mail server: {reason}");
            }
        }
        verdict.answer
    }
}
