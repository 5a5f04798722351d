//! The service with the broker of the run, on which a test stands in for the identity service and the notifier.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auth_types::{TeamId, UserId};
use broker::{
    Acknowledgement, Broker, BrokerState, BrokerUrl, ConsumeOptions, Message, PublishOutcome, Queue,
};
use chrono::{DateTime, Utc};
use event_types::{
    ChatTestRequested, Event, EventData, Exchange, IntegrationConfigured, TeamChanged, TeamRef,
    UserChanged,
};
use serde_json::{Value, json};
use test_kit::{TestBroker, wait_until};
use uuid::Uuid;

use crate::database;
use crate::fake_identity::FakeIdentity;
use crate::service_fixture::Service;

pub const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the data of an event.
pub fn data(event: &Event) -> Value {
    event.data.read().unwrap()
}

/// The service and its broker, which is RabbitMQ if the database is PostgreSQL.
pub struct World {
    pub service: Service,
    pub identity: FakeIdentity,
    broker: Broker,
    kit: TestBroker,
    /// What the notifier has received about webhooks.
    events: Arc<Mutex<Vec<Event>>>,
    _notifier: broker::ConsumerHandle,
}

impl World {
    pub async fn start() -> Self {
        let (identity, kit) = (FakeIdentity::default(), TestBroker::fresh());
        let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
        let url: BrokerUrl = kit.url().parse().unwrap();
        let broker = Broker::connect(&url, kit.prefix(), "test");
        let ready = async || (broker.state() != BrokerState::Disconnected).then_some(());
        wait_until("the broker to be connected", TIMEOUT, ready).await;
        let settings = json!({"identity_url": identity_url, "auth": {"remember_ms": 1_000}});
        let service = Service::with(settings, broker.clone()).await;
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let received = Arc::clone(&events);
        let notifier = broker.consume(
            Queue::NotifyWebhooks,
            ConsumeOptions::default(),
            move |delivery| {
                let acknowledgement = match Event::decode(&delivery.body) {
                    Ok(event) => {
                        received.lock().unwrap().push(event);
                        Acknowledgement::Ack
                    }
                    Err(reason) => Acknowledgement::DeadLetter(reason.to_string()),
                };
                async { acknowledgement }
            },
        );
        Self {
            service,
            identity,
            broker,
            kit,
            events,
            _notifier: notifier,
        }
    }

    /// Waits until the notifier has received `count` events of a type about webhooks; returns their data. An event may
    /// arrive twice: a test that moves the clock ends the relay's leases.
    pub async fn received<T: EventData>(&self, count: usize) -> Vec<T> {
        wait_until(T::TYPE, TIMEOUT, async || {
            let all = self.events.lock().unwrap();
            let mut seen = std::collections::HashSet::new();
            let of_type = all
                .iter()
                .filter(|event| event.event_type == T::TYPE && seen.insert(event.id));
            let data: Vec<T> = of_type.map(|event| event.data_as().unwrap()).collect();
            assert!(data.len() <= count, "{} of {}", data.len(), T::TYPE);
            (data.len() == count).then_some(data)
        })
        .await
    }

    pub async fn stop(self) {
        self.service.stop().await;
        self.broker.close().await;
        drop(self.kit);
    }

    /// Publishes an event as the identity service does, maybe once more; returns its id.
    pub async fn publish_at<T: EventData>(&self, id: Uuid, at: DateTime<Utc>, data: &T) -> Uuid {
        let event = Event::new(id, "identity-service", at, None, data).unwrap();
        let outcome = self
            .publish_bytes(id, T::TYPE, event.encode().unwrap().into_bytes())
            .await;
        assert_eq!(outcome, PublishOutcome::Confirmed);
        id
    }

    /// Publishes an event that happens now.
    pub async fn publish<T: EventData>(&self, data: &T) -> Uuid {
        self.publish_at(Uuid::now_v7(), self.service.time.now(), data)
            .await
    }

    pub async fn publish_bytes(&self, id: Uuid, key: &str, body: Vec<u8>) -> PublishOutcome {
        let message = Message {
            exchange: Exchange::Public,
            routing_key: key.to_owned(),
            id,
            body: body.into(),
            has_subscriber: key.starts_with("session."),
        };
        self.broker.publisher().publish(message).await
    }

    /// Waits until everything published so far is consumed: an event about a team that nobody has comes after it.
    pub async fn until_all_consumed(&self) {
        static TEAMS: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(1_000);
        let team = TEAMS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        self.publish(&team_changed(team, "Nobody", false)).await;
        let sql = format!("SELECT count(*) AS number FROM teams WHERE team_id = {team}");
        wait_until("the events to be consumed", TIMEOUT, async || {
            (database::count(&self.service, &sql) == 1).then_some(())
        })
        .await;
    }

    /// Waits until this event is consumed.
    pub async fn until_consumed(&self, id: Uuid) {
        let sql = format!("SELECT count(*) AS number FROM inbox WHERE event_id = '{id}'");
        wait_until("the event to be consumed", TIMEOUT, async || {
            (database::count(&self.service, &sql) == 1).then_some(())
        })
        .await;
    }

    /// Returns the number of dead letters on RabbitMQ.
    pub async fn dead_letter_count(&self) -> u32 {
        let connection = self.kit.connect().await;
        let count = self.kit.waiting(&connection, "work.parked").await;
        connection.close(200, "done".into()).await.unwrap();
        count
    }

    /// Consumes in place of the notifier, and collects the settings of chats.
    pub fn consume_chats(&self) -> Consumed<IntegrationConfigured> {
        self.consume()
    }

    /// Consumes in place of the notifier, and collects the requested tests of chats.
    pub fn consume_chat_tests(&self) -> Consumed<ChatTestRequested> {
        self.consume()
    }

    fn consume<T: EventData + Send + 'static>(&self) -> Consumed<T> {
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        let consumer = self.broker.consume(
            Queue::NotifyChat,
            ConsumeOptions::default(),
            move |delivery| {
                let event = Event::decode(&delivery.body).unwrap();
                if let Ok(data) = event.data_as() {
                    all.lock().unwrap().push(data);
                }
                async { Acknowledgement::Ack }
            },
        );
        (consumer, received)
    }
}

/// A consumer in place of the notifier, and the data that it received.
pub type Consumed<T> = (broker::ConsumerHandle, Arc<Mutex<Vec<T>>>);

pub fn user_id(id: i64) -> UserId {
    UserId::new(id).unwrap()
}

pub fn user_deleted(id: i64) -> UserChanged {
    UserChanged {
        user_id: user_id(id),
        deleted: true,
        is_active: false,
    }
}

pub fn team_ref(id: i64, name: &str) -> TeamRef {
    TeamRef {
        id: TeamId::new(id).unwrap(),
        slug: format!("team-{id}"),
        name: name.to_owned(),
    }
}

pub fn team_changed(id: i64, name: &str, deleted: bool) -> TeamChanged {
    TeamChanged {
        team: team_ref(id, name),
        deleted,
    }
}
