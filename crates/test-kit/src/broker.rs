use std::thread;

use lapin::{
    BasicProperties, Connection, ConnectionProperties,
    options::{
        BasicPublishOptions, ConfirmSelectOptions, ExchangeDeleteOptions, QueueDeclareOptions,
        QueueDeleteOptions,
    },
    types::FieldTable,
};
use uuid::Uuid;

use crate::TestBackend;

/// Everything that the product (crate `broker`, topology) and `docs/events/consume.py` declare.
const QUEUES: [&str; 10] = [
    "notify.chat",
    "notify.mail",
    "notify.webhooks",
    "notify.logouts",
    "worksession.identity",
    "worksession.feedback",
    "worksession.webhooks",
    "work.parked",
    "consumer.sessions",
    "consumer.sessions.parked",
];
const EXCHANGES: [&str; 4] = [
    "work.events",
    "work.private",
    "work.dlx",
    "consumer.sessions.parked",
];

/// A broker, or a part of one, that no other test uses. What was declared there is deleted when this is dropped.
#[derive(Debug)]
pub struct TestBroker {
    url: String,
    prefix: String,
}

impl TestBroker {
    /// Returns the broker in memory, or RabbitMQ with a prefix of its own.
    pub fn fresh() -> Self {
        match TestBackend::current() {
            TestBackend::Sqlite => Self {
                url: "memory:".into(),
                prefix: String::new(),
            },
            TestBackend::Postgres => Self::rabbit(),
        }
    }

    /// Returns RabbitMQ with a prefix of its own, whatever the tests run on.
    pub fn rabbit() -> Self {
        Self {
            url: TestBackend::amqp_url(),
            prefix: format!("test-{}.", Uuid::new_v4().simple()),
        }
    }

    /// Returns the URL in the form of the configuration.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the prefix of all exchanges and queues.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl Drop for TestBroker {
    fn drop(&mut self) {
        if self.prefix.is_empty() {
            return;
        }
        let (url, prefix) = (self.url.clone(), self.prefix.clone());
        // A thread and a runtime of its own, because this is dropped inside the test's runtime.
        let cleaner = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(delete(&url, &prefix))
        });
        let result = cleaner.join().unwrap();
        if !thread::panicking() {
            result.expect("what the test declared on RabbitMQ is deleted");
        }
    }
}

async fn delete(url: &str, prefix: &str) -> lapin::Result<()> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    // Deleting what was never declared is no error.
    for queue in QUEUES {
        let name = format!("{prefix}{queue}");
        channel
            .queue_delete(name.into(), QueueDeleteOptions::default())
            .await?;
    }
    for exchange in EXCHANGES {
        let name = format!("{prefix}{exchange}");
        channel
            .exchange_delete(name.into(), ExchangeDeleteOptions::default())
            .await?;
    }
    connection.close(200, "done".into()).await
}

/// What only programs outside the product do; on RabbitMQ.
impl TestBroker {
    /// Opens a connection that does not follow the product's rules.
    pub async fn connect(&self) -> Connection {
        Connection::connect(&self.url, ConnectionProperties::default())
            .await
            .unwrap()
    }

    /// Publishes messages directly to a queue, named without the prefix, and waits for their confirms.
    pub async fn post(
        &self,
        connection: &Connection,
        queue: &str,
        messages: impl IntoIterator<Item = (Option<String>, Vec<u8>)>,
    ) {
        let channel = connection.create_channel().await.unwrap();
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await
            .unwrap();
        let queue = format!("{}{queue}", self.prefix);
        let mut confirms = Vec::new();
        for (id, body) in messages {
            let mut properties = BasicProperties::default().with_delivery_mode(2);
            if let Some(id) = id {
                properties = properties.with_message_id(id.into());
            }
            let options = BasicPublishOptions {
                mandatory: true,
                ..BasicPublishOptions::default()
            };
            let name = queue.as_str().into();
            let sent = channel.basic_publish("".into(), name, options, &body, properties);
            confirms.push(sent.await.unwrap());
        }
        for confirm in confirms {
            let confirmation = confirm.await.unwrap();
            assert!(confirmation.is_ack() && confirmation.take_message().is_none());
        }
        channel.close(200, "done".into()).await.unwrap();
    }

    /// Counts the ready messages of a queue, named without the prefix.
    pub async fn waiting(&self, connection: &Connection, queue: &str) -> u32 {
        let channel = connection.create_channel().await.unwrap();
        let options = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let name = format!("{}{queue}", self.prefix);
        let declared = channel.queue_declare(name.into(), options, FieldTable::default());
        let count = declared.await.unwrap().message_count();
        channel.close(200, "done".into()).await.unwrap();
        count
    }
}
