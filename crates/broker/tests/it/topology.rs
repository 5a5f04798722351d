use broker::{Broker, BrokerState, Message, PublishOutcome};
use event_types::Exchange;
use lapin::options::{
    ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{Channel, ExchangeKind};
use test_kit::{TestBroker, wait_until};

use crate::{TIMEOUT, connected, feedback, message, on_rabbitmq};

/// What a program that does not know the product declares under one of its names.
enum Declared {
    /// A durable queue with these arguments.
    Queue(&'static str, Vec<(&'static str, AMQPValue)>),
    Exchange(&'static str, ExchangeKind),
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(value))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conflicting_declaration_is_reported_with_the_remedy_until_it_is_removed() {
    if !on_rabbitmq() {
        return;
    }
    let limited = |limit| {
        vec![
            ("x-queue-type", text("quorum")),
            ("x-overflow", text("reject-publish")),
            ("x-delivery-limit", AMQPValue::LongLongInt(limit)),
        ]
    };
    let cases = [
        (
            Declared::Queue("work.parked", limited(20)),
            "the queue PREFIXwork.parked exists with x-delivery-limit 20, but 1000000 is required",
        ),
        (
            Declared::Queue("notify.mail", vec![]),
            // The broker decides which of several differences it names, and whether with the whole value.
            "the queue PREFIXnotify.mail exists with ",
        ),
        (
            Declared::Queue("notify.chat", limited(10)),
            "the queue PREFIXnotify.chat exists with ",
        ),
        (
            Declared::Exchange("work.events", ExchangeKind::Direct),
            "the exchange PREFIXwork.events exists with type direct, but topic is required",
        ),
    ];
    for (obstacle, sentence) in cases {
        let kit = TestBroker::fresh();
        let connection = kit.connect().await;
        let channel = connection.create_channel().await.unwrap();
        create_obstacle(&channel, kit.prefix(), &obstacle).await;
        let broker = Broker::connect(&kit.url().parse().unwrap(), kit.prefix(), "test");
        let expected = format!("unusable: {}", sentence.replace("PREFIX", kit.prefix()));
        let named = wait_until(sentence, TIMEOUT, async || {
            broker.report().starts_with(&expected).then_some(())
        });
        // A failure shows the actual report.
        tokio::select! {
            () = named => {}
            () = tokio::time::sleep(TIMEOUT * 3 / 4) => panic!("not {expected:?} but {:?}", broker.report()),
        }
        assert!(
            broker.report().contains("drain and delete it"),
            "{}",
            broker.report()
        );
        assert_eq!(broker.state(), BrokerState::Disconnected);
        assert!(matches!(
            broker.publisher().publish(feedback()).await,
            PublishOutcome::Unsent(_)
        ));

        delete_obstacle(&channel, kit.prefix(), &obstacle).await;
        let cleared = async || (broker.report() == "connected").then_some(());
        wait_until("the way to be clear", TIMEOUT, cleared).await;
        assert_eq!(
            broker.publisher().publish(feedback()).await,
            PublishOutcome::Confirmed,
            "{sentence}"
        );
        broker.close().await;
        assert_eq!(broker.report(), "disconnected");
        connection.close(200, "done".into()).await.unwrap();
    }
}

/// RabbitMQ answers 406 to a declaration that differs from the existing one, and `create_obstacle` then panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_queue_and_exchange_is_declared_with_exactly_these_properties() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let connection = kit.connect().await;
    let channel = connection.create_channel().await.unwrap();
    for (exchange, kind) in [
        ("work.events", ExchangeKind::Topic),
        ("work.private", ExchangeKind::Direct),
        ("work.dlx", ExchangeKind::Fanout),
    ] {
        create_obstacle(&channel, kit.prefix(), &Declared::Exchange(exchange, kind)).await;
    }
    let consumed = [
        "notify.chat",
        "notify.mail",
        "notify.webhooks",
        "notify.logouts",
        "worksession.identity",
        "worksession.feedback",
        "worksession.webhooks",
    ];
    let queues = consumed.map(|queue| {
        let arguments = vec![
            ("x-queue-type", text("quorum")),
            ("x-delivery-limit", AMQPValue::LongLongInt(10)),
            (
                "x-dead-letter-exchange",
                text(&format!("{}work.dlx", kit.prefix())),
            ),
            ("x-dead-letter-strategy", text("at-least-once")),
            ("x-overflow", text("reject-publish")),
        ];
        (queue, arguments)
    });
    let dead_letters = vec![
        ("x-queue-type", text("quorum")),
        ("x-delivery-limit", AMQPValue::LongLongInt(1_000_000)),
        ("x-overflow", text("reject-publish")),
    ];
    for (queue, arguments) in queues.into_iter().chain([("work.parked", dead_letters)]) {
        // Checked first, because declaring a missing queue would create it.
        assert_eq!(kit.waiting(&connection, queue).await, 0);
        create_obstacle(&channel, kit.prefix(), &Declared::Queue(queue, arguments)).await;
    }
    connection.close(200, "done".into()).await.unwrap();
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declaring_again_changes_nothing_and_keeps_queued_messages() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let first = connected(&kit).await;
    assert_eq!(
        first.publisher().publish(feedback()).await,
        PublishOutcome::Confirmed
    );
    let second = connected(&kit).await;
    let connection = kit.connect().await;
    assert_eq!(kit.waiting(&connection, "worksession.feedback").await, 1);
    for broker in [first, second] {
        broker.close().await;
    }
    connection.close(200, "done".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_binding_of_an_older_version_still_gets_every_event_once() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let connection = kit.connect().await;
    let session = |has_subscriber| Message {
        has_subscriber,
        ..message(Exchange::Public, "session.started.v1")
    };
    let publish = async |has_subscriber| broker.publisher().publish(session(has_subscriber)).await;
    let webhooks = async || kit.waiting(&connection, "worksession.webhooks").await;
    for (has_subscriber, waiting) in [(false, 0), (true, 1), (false, 1)] {
        assert_eq!(publish(has_subscriber).await, PublishOutcome::Confirmed);
        assert_eq!(webhooks().await, waiting);
    }
    let channel = connection.create_channel().await.unwrap();
    let named = |name: &str| format!("{}{name}", kit.prefix()).into();
    let bound = channel.queue_bind(
        named("worksession.webhooks"),
        named("work.events"),
        "session.#".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    let newer = connected(&kit).await;
    for (has_subscriber, waiting) in [(false, 2), (true, 3)] {
        assert_eq!(publish(has_subscriber).await, PublishOutcome::Confirmed);
        assert_eq!(webhooks().await, waiting);
    }
    assert_eq!(kit.waiting(&connection, "notify.chat").await, 5);
    for broker in [broker, newer] {
        broker.close().await;
    }
    connection.close(200, "done".into()).await.unwrap();
}

async fn create_obstacle(channel: &Channel, prefix: &str, obstacle: &Declared) {
    match obstacle {
        Declared::Queue(name, arguments) => {
            let mut table = FieldTable::default();
            for (key, value) in arguments {
                table.insert((*key).into(), value.clone());
            }
            let name = format!("{prefix}{name}").into();
            let options = QueueDeclareOptions::durable();
            channel.queue_declare(name, options, table).await.unwrap();
        }
        Declared::Exchange(name, kind) => {
            let options = ExchangeDeclareOptions {
                durable: true,
                ..ExchangeDeclareOptions::default()
            };
            let (name, table) = (format!("{prefix}{name}").into(), FieldTable::default());
            let declared = channel.exchange_declare(name, kind.clone(), options, table);
            declared.await.unwrap();
        }
    }
}

async fn delete_obstacle(channel: &Channel, prefix: &str, obstacle: &Declared) {
    match obstacle {
        Declared::Queue(name, _) => {
            let name = format!("{prefix}{name}").into();
            let deleted = channel.queue_delete(name, QueueDeleteOptions::default());
            deleted.await.unwrap();
        }
        Declared::Exchange(name, _) => {
            let name = format!("{prefix}{name}").into();
            let deleted = channel.exchange_delete(name, ExchangeDeleteOptions::default());
            deleted.await.unwrap();
        }
    }
}
