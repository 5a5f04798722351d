//! What the services rely on between them: a confirmed message is safe, nothing is lost when the broker goes down, and
//! a message that cannot be read becomes a dead letter.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod amqp;
mod dead_letters;
mod memory;
mod permissions;
mod proxy;
mod refused;
mod relay;
mod topology;

use std::time::Duration;

use broker::{Acknowledgement, Broker, BrokerState, BrokerUrl, Delivery, Message};
use event_types::Exchange;
use lapin::options::QueueDeleteOptions;
use test_kit::{TestBackend, TestBroker, wait_until};
use tokio::sync::mpsc;
use uuid::Uuid;

/// Declaring quorum queues takes seconds on a broker that declares those of many tests at once.
const TIMEOUT: Duration = Duration::from_secs(60);

fn message(exchange: Exchange, routing_key: &str) -> Message {
    Message {
        exchange,
        routing_key: routing_key.to_owned(),
        id: Uuid::now_v7(),
        body: (*b"{}").into(),
        has_subscriber: false,
    }
}

fn feedback() -> Message {
    message(Exchange::Public, "notification.delivered.v1")
}

/// Connects to a broker of the run's backend that no other test uses.
async fn connected(kit: &TestBroker) -> Broker {
    let url: BrokerUrl = kit.url().parse().unwrap();
    let broker = Broker::connect(&url, kit.prefix(), "test");
    let ready = async || (broker.state() != BrokerState::Disconnected).then_some(());
    wait_until("the broker to be connected", TIMEOUT, ready).await;
    broker
}

/// Whether the run has RabbitMQ, as runs on PostgreSQL have.
fn on_rabbitmq() -> bool {
    TestBackend::current() == TestBackend::Postgres
}

/// Deletes a queue, named without the prefix, with all its messages.
async fn delete_queue(kit: &TestBroker, queue: &str) {
    let connection = kit.connect().await;
    let channel = connection.create_channel().await.unwrap();
    let name = format!("{}{queue}", kit.prefix()).into();
    let deleted = channel.queue_delete(name, QueueDeleteOptions::default());
    deleted.await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

type AckFuture = std::pin::Pin<Box<dyn Future<Output = Acknowledgement> + Send>>;

/// Returns a handler that passes its deliveries to the test and answers with what `ack` returns.
fn recording_handler(
    ack: impl Fn(&Delivery) -> Acknowledgement + Send + Sync + 'static,
) -> (
    impl Fn(Delivery) -> AckFuture + Send + Sync,
    mpsc::UnboundedReceiver<Delivery>,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let handler = move |delivery: Delivery| {
        let acknowledgement = ack(&delivery);
        let _ = sender.send(delivery);
        let acknowledged: AckFuture = Box::pin(async move { acknowledgement });
        acknowledged
    };
    (handler, receiver)
}

async fn next(receiver: &mut mpsc::UnboundedReceiver<Delivery>) -> Delivery {
    tokio::time::timeout(TIMEOUT, receiver.recv())
        .await
        .expect("a delivery came in time")
        .unwrap()
}
