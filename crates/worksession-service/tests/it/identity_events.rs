//! The service consumes the identity service's events from the broker of the run. Deleted accounts are the subject of
//! `departures`, teams that of `teams_gone`.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use auth_types::{TeamId, TeamRole, UserId};
use broker::{
    Acknowledgement, Broker, BrokerState, BrokerUrl, ConsumeOptions, Message, PublishOutcome, Queue,
};
use chrono::{DateTime, Utc};
use event_types::{
    ChatTestRequested, Event, EventData, Exchange, IntegrationConfigured, MembershipChanged,
    SessionRevoked, TeamChanged, TeamRef, UserChanged,
};
use serde_json::{Value, json};
use test_kit::{TestBroker, wait_until};
use uuid::Uuid;

use crate::identity::{Service, Stub};
use crate::rows;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the data of an event.
pub fn data(event: &Event) -> Value {
    event.data.read().unwrap()
}

/// The service and its broker, which is RabbitMQ if the database is PostgreSQL.
pub struct World {
    pub service: Service,
    pub stub: Stub,
    broker: Broker,
    kit: TestBroker,
    told: Arc<Mutex<Vec<Event>>>,
    _notifier: broker::ConsumerHandle,
}

impl World {
    pub async fn start() -> Self {
        let (stub, kit) = (Stub::default(), TestBroker::fresh());
        let identity = format!("http://{}", stub.start("127.0.0.1:0"));
        let url: BrokerUrl = kit.url().parse().unwrap();
        let broker = Broker::connect(&url, kit.prefix(), "test");
        let ready = async || (broker.state() != BrokerState::Disconnected).then_some(());
        wait_until("the broker to be connected", PATIENCE, ready).await;
        let settings = json!({"identity_url": identity, "auth": {"remember_ms": 1_000}});
        let service = Service::with(settings, broker.clone()).await;
        let told = Arc::<Mutex<Vec<Event>>>::default();
        let ears = Arc::clone(&told);
        let notifier = broker.consume(
            Queue::NotifyWebhooks,
            ConsumeOptions::default(),
            move |delivery| {
                let verdict = match Event::decode(&delivery.body) {
                    Ok(event) => {
                        ears.lock().unwrap().push(event);
                        Acknowledgement::Ack
                    }
                    Err(reason) => Acknowledgement::DeadLetter(reason.to_string()),
                };
                async { verdict }
            },
        );
        Self {
            service,
            stub,
            broker,
            kit,
            told,
            _notifier: notifier,
        }
    }

    /// Waits until the notifier has `count` events of a type on webhooks, and returns their data. An event may arrive twice:
    /// a test that moves the clock ends the relay's leases.
    pub async fn told<T: EventData>(&self, count: usize) -> Vec<T> {
        wait_until(T::TYPE, PATIENCE, async || {
            let all = self.told.lock().unwrap();
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

    /// Publishes an event like the identity service does, maybe once more; returns its id.
    pub async fn tell_as<T: EventData>(&self, id: Uuid, at: DateTime<Utc>, data: &T) -> Uuid {
        let event = Event::new(id, "identity-service", at, None, data).unwrap();
        let outcome = self
            .publish(id, T::TYPE, event.encode().unwrap().into_bytes())
            .await;
        assert_eq!(outcome, PublishOutcome::Confirmed);
        id
    }

    /// Publishes an event that happens now.
    pub async fn tell<T: EventData>(&self, data: &T) -> Uuid {
        self.tell_as(Uuid::now_v7(), self.service.time.now(), data)
            .await
    }

    pub async fn publish(&self, id: Uuid, key: &str, body: Vec<u8>) -> PublishOutcome {
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
    pub async fn settle(&self) {
        static TEAMS: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(1_000);
        let team = TEAMS.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        self.tell(&team_changed(team, "Nobody", false)).await;
        let sql = format!("SELECT count(*) AS number FROM teams WHERE team_id = {team}");
        wait_until("the word to be taken in", PATIENCE, async || {
            (rows::count(&self.service, &sql) == 1).then_some(())
        })
        .await;
    }

    /// Waits until this event is consumed.
    pub async fn taken_in(&self, id: Uuid) {
        let sql = format!("SELECT count(*) AS number FROM inbox WHERE event_id = '{id}'");
        wait_until("the event to be taken in", PATIENCE, async || {
            (rows::count(&self.service, &sql) == 1).then_some(())
        })
        .await;
    }

    /// Returns the number of dead letters on RabbitMQ.
    pub async fn parked(&self) -> u32 {
        let connection = self.kit.connect().await;
        let parked = self.kit.waiting(&connection, "work.parked").await;
        connection.close(200, "done".into()).await.unwrap();
        parked
    }

    /// Consumes in place of the notifier, and collects the settings of destinations.
    pub fn destinations(&self) -> Heard<IntegrationConfigured> {
        self.hear()
    }

    /// Consumes in place of the notifier, and collects the requested tests of chats.
    pub fn tests(&self) -> Heard<ChatTestRequested> {
        self.hear()
    }

    fn hear<T: EventData + Send + 'static>(&self) -> Heard<T> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = Arc::clone(&heard);
        let consumer = self.broker.consume(
            Queue::NotifyChat,
            ConsumeOptions::default(),
            move |delivery| {
                let event = Event::decode(&delivery.body).unwrap();
                if let Ok(data) = event.data_as() {
                    ears.lock().unwrap().push(data);
                }
                async { Acknowledgement::Ack }
            },
        );
        (consumer, heard)
    }
}

/// A consumer in place of the notifier, and the data that it received.
pub type Heard<T> = (broker::ConsumerHandle, Arc<Mutex<Vec<T>>>);

pub fn user_id(id: i64) -> UserId {
    UserId::new(id).unwrap()
}

pub fn user_gone(id: i64) -> UserChanged {
    UserChanged {
        user_id: user_id(id),
        deleted: true,
        is_active: false,
    }
}

fn team_ref(id: i64, name: &str) -> TeamRef {
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

/// Makes requests as both users, twice, with `between` in the middle; returns how many validations that took.
async fn questions(world: &World, between: impl AsyncFn()) -> usize {
    let ask = async |token: &str| {
        let call = world.service.api.get("/api/projects").bearer(token);
        call.send().await.expect(200);
    };
    for _ in 0..10 {
        // What the last round cached has expired.
        tokio::time::sleep(Duration::from_millis(1_050)).await;
        let (since, before) = (Instant::now(), world.stub.asked());
        ask("user-").await;
        ask("outsider-8").await;
        between().await;
        ask("user-").await;
        ask("outsider-8").await;
        // After a longer time, cached results may have expired.
        if since.elapsed() < Duration::from_millis(950) {
            return world.stub.asked() - before;
        }
    }
    panic!("the machine is too slow to tell");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_user_drops_only_that_users_cached_validations() {
    let world = World::start().await;
    let user_id = user_id(7);
    let membership = MembershipChanged {
        user_id,
        team: team_ref(3, "Engines"),
        role: Some(TeamRole::Member),
    };
    let revoked = SessionRevoked {
        user_id,
        sids: vec!["one".to_owned()],
        clients: Vec::new(),
    };
    let changed = UserChanged {
        user_id,
        deleted: false,
        is_active: true,
    };
    for (which, expected) in [
        ("nothing", 2),
        ("membership", 3),
        ("revoked", 3),
        ("changed", 3),
    ] {
        let between = async || {
            match which {
                "membership" => drop(world.tell(&membership).await),
                "revoked" => drop(world.tell(&revoked).await),
                "changed" => drop(world.tell(&changed).await),
                _ => {}
            }
            world.settle().await;
        };
        assert_eq!(questions(&world, between).await, expected, "{which}");
    }
    let gone = "SELECT count(*) AS number FROM departures";
    assert_eq!(rows::count(&world.service, gone), 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_identity_event_is_dead_lettered_and_does_not_block_the_queue() {
    let world = World::start().await;
    let body = |kind: &str, data: serde_json::Value| {
        json!({
            "specversion": "1.0", "id": Uuid::now_v7(), "source": "identity-service", "type": kind,
            "subject": "user/7", "time": "2026-11-23T09:00:00Z", "datacontenttype": "application/json",
            "data": data,
        })
    };
    for (key, body) in [
        (
            "identity.user_changed.v2",
            body("identity.user_changed.v2", json!({"user_id": 7})),
        ),
        (
            "identity.user_changed.v1",
            body(
                "identity.user_changed.v1",
                json!({"user_id": 0, "deleted": true}),
            ),
        ),
        ("identity.news.v1", body("identity.news.v1", json!({}))),
        ("identity.user_changed.v1", json!("no event")),
    ] {
        let outcome = world
            .publish(Uuid::now_v7(), key, body.to_string().into_bytes())
            .await;
        // RabbitMQ moves it to the dead-letter queue; the memory broker has none.
        if test_kit::TestBackend::current() == test_kit::TestBackend::Sqlite {
            assert!(
                matches!(outcome, PublishOutcome::Unreadable(_)),
                "{outcome:?}"
            );
        } else {
            assert_eq!(outcome, PublishOutcome::Confirmed);
        }
    }
    world.settle().await;
    let gone = "SELECT count(*) AS number FROM departures";
    assert_eq!(rows::count(&world.service, gone), 0);
    world.stop().await;
}
