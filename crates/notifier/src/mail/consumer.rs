use std::sync::Arc;
use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, ConsumerHandle, Delivery, Queue};
use event_types::{Event, EventData, Mail, MailRequested, MailTemplate};
use lettre::message::Mailbox;
use secrecy::ExposeSecret;
use service_kit::seal::{SealError, Sealer};
use tokio::sync::Notify;

use super::MailMedium;
use super::message::{ComposeError, compose};
use crate::consumer::{acknowledge, data, decode};
use crate::delivery::{DeliveryStore, Medium, NewDelivery};

/// Stores mails as deliveries. Mails that can never be sent become dead letters.
#[derive(Clone)]
pub(super) struct MailConsumer {
    pub(super) sealer: Sealer,
    pub(super) from: Mailbox,
    pub(super) store: DeliveryStore<MailMedium>,
    pub(super) wake: Arc<Notify>,
    pub(super) give_up_after: Duration,
}

impl MailConsumer {
    /// Starts to consume mails.
    pub(super) fn consume(self, broker: &Broker) -> ConsumerHandle {
        broker.consume(
            Queue::NotifyMail,
            ConsumeOptions::default(),
            move |delivery| {
                let consumer = self.clone();
                async move { consumer.store_mail(delivery).await }
            },
        )
    }

    async fn store_mail(&self, delivery: Delivery) -> Acknowledgement {
        let (event, requested) = match self.decode_mail(&delivery) {
            Ok(decoded) => decoded,
            Err(reason) => return Acknowledgement::DeadLetter(reason),
        };
        let (id, give_up_after) = (event.id.to_string(), self.give_up_after);
        let stored = self.store.write(move |tx| {
            let at = tx.at();
            tx.store(NewDelivery {
                kind: requested.template,
                request_id: event.requestid,
                payload: Some(requested.sealed),
                ..NewDelivery::new(MailMedium::NAME, id.clone(), id, at, give_up_after)
            })
        });
        acknowledge(event.id, stored.await, &self.wake)
    }

    /// Decodes an event and checks that a mail can be composed from it. No error contains parts of the mail.
    fn decode_mail(&self, delivery: &Delivery) -> Result<(Event, MailRequested), String> {
        let event = decode(delivery)?;
        if event.event_type != MailRequested::TYPE {
            return Err(format!(
                "this notifier version does not know {:?}",
                event.event_type
            ));
        }
        let requested: MailRequested = data(&event)?;
        let template = &requested.template;
        if !MailTemplate::TEMPLATES.contains(&template.as_str()) {
            let template: String = template.chars().take(64).collect();
            return Err(format!(
                "this notifier version does not know the mail {template:?}"
            ));
        }
        // Other text may not fit into a row.
        if !requested.sealed.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the mail is not sealed text".to_owned());
        }
        let context = MailRequested::seal_context(template);
        let opened = match self.sealer.open(&context, &requested.sealed) {
            Ok(opened) => opened,
            // This is an error of the operator, not of the mail, which waits in its row for the key.
            Err(SealError::UnknownKey(_)) => return Ok((event, requested)),
            Err(error) => return Err(error.to_string()),
        };
        // An error message of serde would quote the mail.
        let mail: Mail = serde_json::from_slice(opened.expose_secret())
            .map_err(|_| "the sealed mail cannot be decoded".to_owned())?;
        if mail.text.template() != template {
            return Err("the mail does not match its template".to_owned());
        }
        match compose(&mail, &self.from, &event.id.to_string(), event.time) {
            // Users enter recipients, so a bad one is a failed delivery and no fault that an operator looks into.
            Ok(_) | Err(ComposeError::Recipient) => Ok((event, requested)),
            Err(error) => Err(error.to_string()),
        }
    }
}
