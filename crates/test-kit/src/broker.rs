use std::thread;

use lapin::{
    Connection, ConnectionProperties,
    options::{ExchangeDeleteOptions, QueueDeleteOptions},
};
use uuid::Uuid;

use crate::TestBackend;

/// Everything that the product declares (crate `broker`, topology).
const QUEUES: [&str; 5] = [
    "notify.chat",
    "notify.mail",
    "worksession.identity",
    "worksession.feedback",
    "work.parked",
];
const EXCHANGES: [&str; 3] = ["work.events", "work.private", "work.dlx"];

/// A broker, or a part of one, that nobody else uses; what was declared there is deleted when this is
/// dropped.
#[derive(Debug)]
pub struct TestBroker {
    url: String,
    prefix: String,
}

impl TestBroker {
    /// In memory, or RabbitMQ with a prefix of its own.
    pub fn fresh() -> Self {
        match TestBackend::current() {
            TestBackend::Sqlite => Self {
                url: "memory:".into(),
                prefix: String::new(),
            },
            TestBackend::Postgres => Self {
                url: TestBackend::amqp_url(),
                prefix: format!("test-{}.", Uuid::new_v4().simple()),
            },
        }
    }

    /// The URL, as a configuration takes it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What stands before every exchange and queue name.
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
        // A thread and a runtime of its own: dropping happens inside the test's runtime.
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
