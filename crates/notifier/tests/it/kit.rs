use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::{
    Acknowledgement, Broker, BrokerState, ConsumeOptions, ConsumerHandle, Message, PublishOutcome,
    Queue,
};
use chrono::TimeDelta;
use db_kit::{DbError, Pool};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use event_types::{
    ChatProvider, ChatTarget, Event, EventData, IntegrationConfigured, SessionProject,
    SessionStarted, SessionUser,
};
use notifier::{Config, Deps, MIGRATIONS, Running};
use service_kit::Clock;
use service_kit::config::SecretKey;
use service_kit::seal::{Purpose, SealingKeys};
use test_kit::{ApiClient, FakeChat, TestBroker, TestDb, chat_settings, wait_until};
use uuid::Uuid;

diesel::table! {
    destinations (medium, id) { medium -> Text, id -> Text, revision -> BigInt, state -> Text, }
}

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const KEY: [u8; 32] = [7; 32];

/// A notifier with a database, a broker and a chat of its own, and a consumer of what it publishes.
pub(crate) struct Stage {
    pub(crate) chat: FakeChat,
    pub(crate) db: TestDb,
    pub(crate) clock: Clock,
    pub(crate) config: Config,
    broker: Broker,
    notifier: Option<Running>,
    feedback: Arc<Mutex<Vec<Event>>>,
    _feedback_consumer: ConsumerHandle,
    _identity_consumer: ConsumerHandle,
    /// Dropped last.
    pub(crate) kit: TestBroker,
}

impl Stage {
    pub(crate) async fn set() -> Self {
        Self::set_with(Clock::system(), |_| {}).await
    }

    /// Starts with a chat that accepts only what the real one accepts.
    pub(crate) async fn set_with_strict(kind: ChatProvider) -> Self {
        let mut stage = Self::set().await;
        stage.chat = FakeChat::strict(kind).await;
        let server = format!("http://{}", stage.chat.address());
        stage.connect(&chat_settings(kind, &server)).await;
        stage
    }

    /// Sets the chat of project 3.
    pub(crate) async fn connect(&self, settings: &serde_json::Value) {
        self.publish_event(&sealed(3, 1, settings)).await;
        self.wait_until_stored(3, 1).await;
    }

    pub(crate) async fn set_with(clock: Clock, change: impl FnOnce(&mut Config)) -> Self {
        let db = TestDb::fresh("notifier", MIGRATIONS).await;
        let kit = TestBroker::fresh();
        let mut config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            drain_seconds: 0,
            ..Config::default()
        };
        config.database.url = Some(db.database_url());
        config.secrets.encryption_key = Some(SecretKey::new(KEY));
        config.http.allow_plain = true;
        config.http.allowed_cidrs.0 = vec!["127.0.0.0/8".parse().unwrap()];
        config.chat.interval_ms = 0;
        change(&mut config);
        let broker = Broker::connect(&kit.url().parse().unwrap(), kit.prefix(), "test");
        let ready = async || (broker.state() != BrokerState::Disconnected).then_some(());
        wait_until("the broker", TIMEOUT, ready).await;
        let feedback = Arc::<Mutex<Vec<Event>>>::default();
        let received = Arc::clone(&feedback);
        let feedback_consumer = broker.consume(
            Queue::WorksessionFeedback,
            ConsumeOptions::default(),
            move |delivery| {
                received
                    .lock()
                    .unwrap()
                    .push(Event::decode(&delivery.body).unwrap());
                async { Acknowledgement::Ack }
            },
        );
        // Some events go to this queue too, and none is confirmed before all consumers have it.
        let identity_consumer = broker.consume(
            Queue::WorksessionIdentity,
            ConsumeOptions::default(),
            |_| async { Acknowledgement::Ack },
        );
        let chat = FakeChat::start().await;
        let mut stage = Self {
            chat,
            db,
            clock,
            config,
            broker,
            notifier: None,
            feedback,
            _feedback_consumer: feedback_consumer,
            _identity_consumer: identity_consumer,
            kit,
        };
        stage.start().await;
        stage
    }

    pub(crate) async fn start(&mut self) {
        self.notifier = Some(self.start_process().await);
    }

    /// Starts another process on the same database.
    pub(crate) async fn start_process(&self) -> Running {
        let deps = Deps {
            clock: self.clock.clone(),
            broker: self.broker.clone(),
        };
        notifier::start(self.config.clone(), deps).await.unwrap()
    }

    pub(crate) async fn stop(&mut self) {
        self.notifier.take().unwrap().stop().await;
    }

    pub(crate) fn api(&self) -> ApiClient {
        ApiClient::new(self.notifier.as_ref().unwrap().base_url())
    }

    pub(crate) async fn metric(&self, line: &str) -> u64 {
        self.api().metric(line).await
    }

    pub(crate) fn pool(&self) -> Pool {
        self.db.pool(1)
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.pool()
            .read_blocking::<_, DbError>(|db| Ok(db.batch_execute(sql)?))
            .unwrap();
    }

    /// Publishes an event, which must be confirmed; returns its id.
    pub(crate) async fn publish_event<T: EventData>(&self, data: &T) -> Uuid {
        let id = Uuid::now_v7();
        self.publish_event_as(id, data).await;
        id
    }

    pub(crate) async fn publish_event_as<T: EventData>(&self, id: Uuid, data: &T) {
        let event = Event::new(
            id,
            "test",
            self.clock.now(),
            Some("request-1".to_owned()),
            data,
        )
        .unwrap();
        assert_eq!(
            self.publish(id, T::EXCHANGE, T::TYPE, event.encode().unwrap().as_bytes())
                .await,
            PublishOutcome::Confirmed
        );
    }

    /// Publishes events in one batch.
    pub(crate) async fn publish_all<T: EventData>(
        &self,
        events: &[(Uuid, T)],
    ) -> Vec<PublishOutcome> {
        let message = |(id, data): &(Uuid, T)| {
            let event = Event::new(*id, "test", self.clock.now(), None, data).unwrap();
            Message {
                exchange: T::EXCHANGE,
                routing_key: T::TYPE.to_owned(),
                id: *id,
                body: event.encode().unwrap().into_bytes().into(),
                has_subscriber: false,
            }
        };
        let messages = events.iter().map(message).collect();
        self.broker.publisher().publish_batch(messages).await
    }

    pub(crate) async fn publish(
        &self,
        id: Uuid,
        exchange: event_types::Exchange,
        key: &str,
        body: &[u8],
    ) -> PublishOutcome {
        let message = Message {
            exchange,
            routing_key: key.to_owned(),
            id,
            body: body.into(),
            has_subscriber: false,
        };
        self.broker.publisher().publish(message).await
    }

    /// Sets a project's chat, or removes it if there is no name, and waits until that is stored: RabbitMQ delivers the next
    /// event at the same time.
    pub(crate) async fn configure(&self, project_id: i64, revision: i64, hook: Option<&str>) {
        let address = hook.map(|name| self.chat.hook(name));
        self.publish_event(&destination(project_id, revision, address.as_deref()))
            .await;
        self.wait_until_stored(project_id, revision).await;
    }

    /// Pauses a project's chat, and waits until that is stored.
    pub(crate) async fn pause(&self, project_id: i64, revision: i64) {
        let paused = IntegrationConfigured {
            paused: true,
            ..destination(project_id, revision, None)
        };
        self.publish_event(&paused).await;
        let (pool, wanted) = (self.pool(), "disabled");
        wait_until("the hook to be paused", TIMEOUT, async || {
            let known = pool.read(move |db| {
                let row = destinations::table.find(("chat", project_id.to_string()));
                Ok::<_, DbError>(row.select(destinations::state).first::<String>(db)?)
            });
            (known.await.unwrap() == wanted).then_some(())
        })
        .await;
    }

    async fn wait_until_stored(&self, project_id: i64, revision: i64) {
        let pool = self.pool();
        wait_until("the hook to be stored", TIMEOUT, async || {
            let known = pool.read(move |db| {
                let row = destinations::table.find(("chat", project_id.to_string()));
                let revision = row.select(destinations::revision).first::<i64>(db);
                Ok::<_, DbError>(revision.optional()?)
            });
            known.await.unwrap().filter(|known| *known >= revision)
        })
        .await;
    }

    /// Starts a session on a team project whose chat has this revision; returns the event's id.
    pub(crate) async fn start_session(
        &self,
        project_id: i64,
        revision: Option<i64>,
        note: &str,
    ) -> Uuid {
        self.publish_event(&self.started(project_id, revision, note))
            .await
    }

    pub(crate) fn started(
        &self,
        project_id: i64,
        revision: Option<i64>,
        note: &str,
    ) -> SessionStarted {
        let now = self.clock.now();
        SessionStarted {
            session_id: Uuid::now_v7(),
            user: SessionUser {
                id: "7".parse().unwrap(),
                username: "ada".to_owned(),
            },
            project: SessionProject {
                id: format!("team_{project_id}"),
                name: "Apollo".to_owned(),
                kind: "team".to_owned(),
                team_id: "5".parse().ok(),
                team_name: Some("Core".to_owned()),
            },
            category: "coding".to_owned(),
            planned_duration: 50,
            planning_note: note.to_owned(),
            started_at: now,
            expected_end_at: now + TimeDelta::minutes(50),
            client: "client_a".to_owned(),
            chat: revision.map(|revision| ChatTarget {
                provider: "slack".to_owned(),
                channel: "focus".to_owned(),
                revision,
                announce: ChatTarget::usual(),
            }),
        }
    }

    /// Waits for the feedback event about this event; returns its type, and its data with the event's own notification.
    pub(crate) async fn wait_for_feedback_about(&self, id: Uuid) -> (String, serde_json::Value) {
        let wanted = id.to_string();
        let its = |event: &Event| {
            notifications(event)
                .iter()
                .any(|notification| notification["event_id"] == *wanted)
        };
        let (event_type, mut data) = self.wait_for_feedback(its).await;
        let also = data["also"].as_array().cloned().unwrap_or_default();
        if let Some(own) = also
            .iter()
            .find(|notification| notification["event_id"] == *wanted)
        {
            for (name, value) in own.as_object().unwrap() {
                data[name] = value.clone();
            }
        }
        (event_type, data)
    }

    pub(crate) async fn wait_for_feedback(
        &self,
        wanted: impl Fn(&Event) -> bool,
    ) -> (String, serde_json::Value) {
        wait_until("feedback from the notifier", TIMEOUT, async || {
            let feedback = self.feedback.lock().unwrap();
            feedback
                .iter()
                .find(|event| wanted(event))
                .map(|event| (event.event_type.clone(), data(event)))
        })
        .await
    }

    pub(crate) fn feedback(&self) -> Vec<Event> {
        self.feedback.lock().unwrap().clone()
    }
}

/// Returns the data of an event.
pub(crate) fn data(event: &Event) -> serde_json::Value {
    event.data.read().unwrap()
}

/// Returns the notifications whose outcome a feedback event reports.
pub(crate) fn notifications(event: &Event) -> Vec<serde_json::Value> {
    let data = data(event);
    let also = data["also"].as_array().cloned().unwrap_or_default();
    [vec![data], also].concat()
}

pub(crate) fn destination(
    project_id: i64,
    revision: i64,
    address: Option<&str>,
) -> IntegrationConfigured {
    let slack = |address| serde_json::json!({"provider": "slack", "webhook_url": address});
    match address {
        Some(address) => sealed(project_id, revision, &slack(address)),
        None => IntegrationConfigured {
            project_id,
            revision,
            sealed: None,
            paused: false,
        },
    }
}

/// Returns the event that configures a chat with these settings.
fn sealed(project_id: i64, revision: i64, settings: &serde_json::Value) -> IntegrationConfigured {
    let context = IntegrationConfigured::seal_context(project_id, revision);
    let plain = settings.to_string();
    let sealed = SealingKeys::new(&KEY, [])
        .sealer(Purpose::Chats)
        .unwrap()
        .seal(&context, plain.as_bytes());
    IntegrationConfigured {
        project_id,
        revision,
        sealed: Some(sealed.unwrap()),
        paused: false,
    }
}
