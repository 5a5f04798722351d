use broker::{DeadLetter, Queue};
use chrono::{DateTime, Utc};
use db_kit::outbox::UnroutableRow;
use event_types::Exchange;
use service_kit::crypto::sha256;

use super::super::context::short;
use super::diagnosis;

pub(super) struct DeadLetterEntry {
    /// The queue that dead-lettered it, or the outbox in which it is unroutable, such as `worksession.outbox`.
    pub(super) queue: String,
    pub(super) origin: DeadLetterOrigin,
}

pub(super) enum DeadLetterOrigin {
    Queue(Box<DeadLetter>),
    Outbox(UnroutableRow),
}

impl DeadLetterEntry {
    pub(super) fn from_queue(message: DeadLetter) -> Self {
        let queue = message.queue.clone().unwrap_or_else(|| "?".to_owned());
        Self {
            queue,
            origin: DeadLetterOrigin::Queue(Box::new(message)),
        }
    }

    pub(super) fn from_outbox(part: &str, row: UnroutableRow) -> Self {
        Self {
            queue: format!("{part}.outbox"),
            origin: DeadLetterOrigin::Outbox(row),
        }
    }

    /// Returns the whole id; for a message without one, a hash of its body.
    pub(super) fn id(&self) -> String {
        match &self.origin {
            DeadLetterOrigin::Outbox(row) => row.id.clone(),
            DeadLetterOrigin::Queue(message) => {
                match message.id.as_deref().filter(|id| !id.is_empty()) {
                    Some(id) => id.to_owned(),
                    None => {
                        let digest = sha256(&message.body);
                        let digits = digest.iter().take(6).map(|byte| format!("{byte:02x}"));
                        format!("body-{}", digits.collect::<String>())
                    }
                }
            }
        }
    }

    pub(super) fn has_id(&self, text: &str) -> bool {
        let id = self.id();
        text == id || text == short(&id)
    }

    pub(super) fn event(&self) -> &str {
        match &self.origin {
            DeadLetterOrigin::Queue(message) => &message.event_type,
            DeadLetterOrigin::Outbox(row) => &row.routing_key,
        }
    }

    /// Returns when it was dead-lettered, or for a row of an outbox, when it was written.
    pub(super) fn at(&self) -> Option<DateTime<Utc>> {
        match &self.origin {
            DeadLetterOrigin::Queue(message) => message.dead_lettered_at,
            DeadLetterOrigin::Outbox(row) => Some(row.created_at.and_utc()),
        }
    }

    pub(super) fn body(&self) -> &[u8] {
        match &self.origin {
            DeadLetterOrigin::Queue(message) => &message.body,
            DeadLetterOrigin::Outbox(row) => row.body.as_bytes(),
        }
    }

    /// Returns why this version cannot read it, or that it can.
    pub(super) fn reason(&self) -> String {
        match &self.origin {
            DeadLetterOrigin::Queue(message) => {
                diagnosis::diagnose(message.cause.as_deref(), &message.body)
            }
            DeadLetterOrigin::Outbox(row) => {
                let exchange = Exchange::from_name(&row.exchange);
                if exchange.is_some_and(|exchange| Queue::is_any_bound(exchange, &row.routing_key))
                {
                    diagnosis::diagnose(None, row.body.as_bytes())
                } else {
                    "no queue is bound to its type".to_owned()
                }
            }
        }
    }
}
