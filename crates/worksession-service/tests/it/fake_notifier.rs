//! A test in place of the notifier: it reads what the service publishes, and reports outcomes.

use broker::{Broker, Message, PublishOutcome};
use chrono::DateTime;
use diesel::prelude::*;
use event_types::{Event, EventData, Exchange, Mail, MailRequested};
use secrecy::ExposeSecret;
use serde_json::json;
use service_kit::seal::{Purpose, SealingKeys};
use uuid::Uuid;

use crate::fake_identity::FakeIdentity;
use crate::service_fixture::Service;

diesel::table! {
    outbox (id) {
        id -> Text,
        exchange -> Text,
        body -> Text,
    }
}

pub const KEY: [u8; 32] = [7; 32];
const KEY_BASE64: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
pub const CHAT_URL: &str = "https://chat.example/services/T0/B0/very-secret";

/// Starts the service with a memory broker; no notifier consumes from it.
pub async fn start_service() -> (Service, Broker) {
    let identity_url = format!("http://{}", FakeIdentity::default().start("127.0.0.1:0"));
    let broker = Broker::memory();
    let config = json!({"identity_url": identity_url, "secrets": {"encryption_key": KEY_BASE64}});
    (Service::with(config, broker.clone()).await, broker)
}

/// Returns the events in the outbox and their exchanges; no notifier consumes them.
pub async fn outbox_events(service: &Service) -> Vec<(String, Event)> {
    let pool = service.database.pool(1);
    let rows: Vec<(String, String)> = pool
        .read(|db| {
            let columns = (outbox::exchange, outbox::body);
            outbox::table
                .order(outbox::id)
                .select(columns)
                .load(db)
                .map_err(db_kit::DbError::from)
        })
        .await
        .unwrap();
    rows.into_iter()
        .map(|(exchange, body)| (exchange, Event::decode(body.as_bytes()).unwrap()))
        .collect()
}

/// Returns the mails that were requested, oldest first.
pub async fn requested_mails(service: &Service) -> Vec<Mail> {
    let sealer = SealingKeys::new(&KEY, []).sealer(Purpose::Mails).unwrap();
    let events = outbox_events(service).await.into_iter();
    let requests = events.filter(|(_, event)| event.event_type == MailRequested::TYPE);
    requests
        .map(|(exchange, event)| {
            assert_eq!(Exchange::from_name(&exchange), Some(Exchange::Private));
            let request: MailRequested = event.data_as().unwrap();
            let context = MailRequested::seal_context(&request.template);
            let plain = sealer.open_text(&context, &request.sealed).unwrap();
            let mail: Mail = serde_json::from_str(plain.expose_secret()).unwrap();
            assert_eq!(mail.text.template(), request.template);
            mail
        })
        .collect()
}

/// Publishes an event as the notifier does.
pub async fn publish<T: EventData>(broker: &Broker, id: Uuid, data: &T) -> PublishOutcome {
    let event = Event::new(id, "notifier", DateTime::UNIX_EPOCH, None, data).unwrap();
    let message = Message {
        exchange: T::EXCHANGE,
        routing_key: T::TYPE.to_owned(),
        id,
        body: event.encode().unwrap().into_bytes().into(),
        has_subscriber: false,
    };
    broker.publisher().publish(message).await
}
