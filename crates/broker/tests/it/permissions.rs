//! Each service with a RabbitMQ user of its own, as in `deploy/rabbitmq/definitions.json`.

use broker::{
    Acknowledgement, Broker, BrokerState, ConsumeOptions, ConsumerHandle, DeadLetterQueue,
    Delivery, Message, PublishOutcome, Queue,
};
use event_types::Exchange::{self, Private, Public};
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeleteOptions,
    QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions, QueuePurgeOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use test_kit::wait_until;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use uuid::Uuid;

use crate::{TIMEOUT, message, next};

/// Who publishes what, and how many of the product's queues get it.
const EVENTS: [(&str, Exchange, &str, usize); 22] = [
    ("identity", Public, "identity.session_revoked.v1", 1),
    ("identity", Public, "identity.user_changed.v1", 2),
    ("identity", Public, "identity.membership_changed.v1", 1),
    ("identity", Public, "identity.team_changed.v1", 1),
    ("identity", Private, "mail.requested.v1", 1),
    ("identity", Private, "identity.logout_requested.v1", 1),
    // With one more key, for webhooks.
    ("worksession", Public, "session.started.v1", 2),
    ("worksession", Public, "session.submitted.v1", 2),
    ("worksession", Public, "session.abandoned.v1", 2),
    ("worksession", Private, "integration.configured.v1", 1),
    ("worksession", Private, "chat.test_requested.v1", 1),
    ("worksession", Private, "webhook.configured.v1", 1),
    ("worksession", Private, "webhook.due.v1", 1),
    ("worksession", Private, "webhook.replayed.v1", 1),
    ("worksession", Private, "mail.requested.v1", 1),
    ("notifier", Public, "notification.delivered.v1", 1),
    ("notifier", Public, "notification.failed.v1", 1),
    ("notifier", Public, "notification.skipped.v1", 1),
    ("notifier", Public, "integration.disabled.v1", 1),
    ("notifier", Public, "chat.tested.v1", 1),
    ("notifier", Public, "webhook.attempted.v1", 1),
    ("notifier", Public, "webhook.disabled.v1", 1),
];

const CONSUMERS: [(&str, Queue); 7] = [
    ("notifier", Queue::NotifyChat),
    ("notifier", Queue::NotifyMail),
    ("notifier", Queue::NotifyWebhooks),
    ("notifier", Queue::NotifyLogouts),
    ("worksession", Queue::WorksessionIdentity),
    ("worksession", Queue::WorksessionFeedback),
    ("worksession", Queue::WorksessionWebhooks),
];

fn url(user: &str) -> Option<String> {
    let url = test_kit::setting("HOLDFAST_TEST_AMQP_RESTRICTED")?;
    Some(url.replace("USER", user))
}

fn connect_as(user: &str) -> Broker {
    Broker::connect(&url(user).unwrap().parse().unwrap(), "", user)
}

/// Connects as a program that does as it likes.
async fn connect_raw(user: &str) -> Connection {
    let url = url(user).unwrap();
    let properties = ConnectionProperties::default;
    // The users are created while the run begins.
    wait_until("the user to be there", TIMEOUT, async || {
        Connection::connect(&url, properties()).await.ok()
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_service_may_do_what_it_needs_and_none_can_act_for_another() {
    if url("").is_none() {
        return;
    }
    let brokers = ["identity", "worksession", "notifier"].map(|user| (user, connect_as(user)));
    let of = |user: &str| &brokers.iter().find(|(name, _)| *name == user).unwrap().1;
    for (user, broker) in &brokers {
        let ready = async || (broker.state() != BrokerState::Disconnected).then_some(());
        wait_until(user, TIMEOUT, ready).await;
    }
    let (sender, mut received) = unbounded_channel();
    let consumers: Vec<ConsumerHandle> = CONSUMERS
        .iter()
        .map(|&(user, queue)| {
            let sender = sender.clone();
            of(user).consume(queue, ConsumeOptions::default(), move |delivery| {
                let is_unreadable =
                    delivery.body.as_ref() == b"unreadable" && !delivery.routing_key.is_empty();
                sender.send(delivery).unwrap();
                async move {
                    match is_unreadable {
                        true => Acknowledgement::DeadLetter("unreadable".to_owned()),
                        false => Acknowledgement::Ack,
                    }
                }
            })
        })
        .collect();
    check_allowed(&of, &mut received).await;
    check_dead_letters(of("worksession"), &mut received).await;
    check_forgeries(&mut received).await;
    check_forbidden().await;
    check_third_party_consumer(of("worksession")).await;
    drop(consumers);
    for (_, broker) in &brokers {
        broker.close().await;
    }
}

/// Does what the product does.
async fn check_allowed<'a>(
    of: &impl Fn(&str) -> &'a Broker,
    received: &mut UnboundedReceiver<Delivery>,
) {
    for (user, exchange, key, queues) in EVENTS {
        let event = Message {
            has_subscriber: key.starts_with("session."),
            ..message(exchange, key)
        };
        let id = event.id;
        let outcome = of(user).publisher().publish(event).await;
        assert_eq!(outcome, PublishOutcome::Confirmed, "{user} {key}");
        for _ in 0..queues {
            let delivery = next(received).await;
            assert_eq!((delivery.id, delivery.routing_key.as_str()), (id, key));
        }
    }
    for user in ["worksession", "notifier"] {
        let count = async || of(user).consumers(Queue::NotifyChat).await.ok();
        assert_eq!(wait_until("an answer", TIMEOUT, count).await, 1, "{user}");
        assert_eq!(of(user).count_dead_letters().await.unwrap(), 0, "{user}");
    }
}

/// Lists a dead letter and replays it, as an operator.
async fn check_dead_letters(broker: &Broker, received: &mut UnboundedReceiver<Delivery>) {
    let unreadable = Message {
        body: (*b"unreadable").into(),
        ..message(Public, "session.started.v1")
    };
    let id = unreadable.id;
    broker.publisher().publish(unreadable).await;
    assert_eq!(next(received).await.id, id);
    let url = url("parked").unwrap().parse().unwrap();
    let queue = DeadLetterQueue::connect(&url, "", "test").await.unwrap();
    wait_until("it to become a dead letter", TIMEOUT, async || {
        (queue.count().await.unwrap() == 1).then_some(())
    })
    .await;
    let mut checkout = queue.check_out().await.unwrap();
    let messages = checkout.next(1).await.unwrap();
    let sent = checkout.replay(&[&messages[0]]).await.unwrap();
    assert_eq!(sent, [Ok(())]);
    checkout.return_rest().await.unwrap();
    let again = next(received).await;
    assert_eq!((again.id, again.routing_key.as_str()), (id, ""));
    queue.close().await;
}

/// Checks that no user can publish another's event: under its key, by a second key, or straight into a queue.
async fn check_forgeries(received: &mut UnboundedReceiver<Delivery>) {
    for (user, exchange, key) in [
        ("identity", "work.events", "session.submitted.v1"),
        ("identity", "work.events", "integration.disabled.v1"),
        ("worksession", "work.events", "identity.user_changed.v1"),
        ("worksession", "work.events", "identity.team_changed.v1"),
        ("worksession", "work.events", "notification.delivered.v1"),
        ("notifier", "work.events", "identity.user_changed.v1"),
        ("notifier", "work.events", "session.started.v1"),
        ("notifier", "work.private", "mail.requested.v1"),
        ("notifier", "work.private", "webhook.due.v1"),
        ("consumer", "work.events", "identity.user_changed.v1"),
        ("consumer", "work.private", "mail.requested.v1"),
        ("consumer", "work.dlx", ""),
        ("parked", "work.events", "identity.user_changed.v1"),
        ("identity", "", "worksession.identity"),
        ("worksession", "", "notify.mail"),
        ("notifier", "", "worksession.identity"),
        ("consumer", "", "worksession.identity"),
    ] {
        let connection = connect_raw(user).await;
        let channel = connection.create_channel().await.unwrap();
        let refused = publish(&channel, exchange, key, None).await.unwrap_err();
        assert!(
            refused.contains("ACCESS_REFUSED"),
            "{user} {key}: {refused}"
        );
        connection.close(200, "done".into()).await.unwrap();
    }
    // Old brokers do not check additional keys; such a message arrives, and counts as forged.
    let connection = connect_raw("worksession").await;
    let channel = connection.create_channel().await.unwrap();
    let second_key = Some("identity.user_changed.v1");
    let sent = publish(&channel, "work.events", "session.started.v1", second_key).await;
    if sent.is_ok() {
        for _ in 0..3 {
            let delivery = next(received).await;
            assert!(delivery.event().unwrap_err().starts_with("forged"));
        }
    }
    connection.close(200, "done".into()).await.unwrap();
    assert!(received.is_empty());
}

async fn publish(
    channel: &Channel,
    exchange: &'static str,
    key: &'static str,
    second_key: Option<&str>,
) -> Result<(), String> {
    const BODY: &str = r#"{"specversion":"1.0","id":"01a207a2-3280-79ee-a10c-e824a468ca52","source":"identity-service",
        "type":"identity.user_changed.v1","subject":"user/7","time":"2026-11-23T09:00:00Z",
        "datacontenttype":"application/json","data":{"user_id":7,"deleted":true}}"#;
    let mut properties =
        BasicProperties::default().with_message_id(Uuid::now_v7().to_string().into());
    if let Some(second_key) = second_key {
        let mut headers = FieldTable::default();
        let keys = vec![AMQPValue::LongString(second_key.into())];
        headers.insert("BCC".into(), AMQPValue::FieldArray(keys.into()));
        properties = properties.with_headers(headers);
    }
    let confirmed = async {
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        let options = BasicPublishOptions::default();
        let published = channel.basic_publish(
            exchange.into(),
            key.into(),
            options,
            BODY.as_bytes(),
            properties,
        );
        published.await?.await
    };
    confirmed.await.map(drop).map_err(|error| error.to_string())
}

/// Checks that no user can read, empty or delete what belongs to another.
async fn check_forbidden() {
    for (user, queue) in [
        ("identity", "notify.mail"),
        ("worksession", "notify.mail"),
        ("worksession", "work.parked"),
        ("notifier", "worksession.identity"),
        ("consumer", "notify.mail"),
        ("consumer", "worksession.identity"),
    ] {
        for what in ["consume", "purge", "delete"] {
            let connection = connect_raw(user).await;
            let channel = connection.create_channel().await.unwrap();
            let none = FieldTable::default();
            let done = match what {
                "consume" => {
                    let options = BasicConsumeOptions::default();
                    let consuming = channel.basic_consume(queue.into(), "".into(), options, none);
                    consuming.await.map(drop)
                }
                "purge" => {
                    let purged = channel.queue_purge(queue.into(), QueuePurgeOptions::default());
                    purged.await.map(drop)
                }
                _ => {
                    let deleted = channel.queue_delete(queue.into(), QueueDeleteOptions::default());
                    deleted.await.map(drop)
                }
            };
            let refused = done.unwrap_err().to_string();
            assert!(
                refused.contains("ACCESS_REFUSED"),
                "{user} {queue} {what}: {refused}"
            );
        }
    }
    for user in ["identity", "worksession", "notifier", "consumer", "parked"] {
        let connection = connect_raw(user).await;
        let channel = connection.create_channel().await.unwrap();
        let deleted =
            channel.exchange_delete("work.events".into(), ExchangeDeleteOptions::default());
        let refused = deleted.await.unwrap_err().to_string();
        assert!(refused.contains("ACCESS_REFUSED"), "{user}: {refused}");
    }
}

/// Consumes as a third-party program, in a queue of its own.
async fn check_third_party_consumer(publisher: &Broker) {
    let connection = connect_raw("consumer").await;
    let channel = connection.create_channel().await.unwrap();
    let (queue, none) = ("consumer.sessions", FieldTable::default);
    let declared = channel.queue_declare(queue.into(), QueueDeclareOptions::durable(), none());
    declared.await.unwrap();
    for key in ["session.#", "#"] {
        let options = QueueBindOptions::default();
        let bound = channel.queue_bind(
            queue.into(),
            "work.events".into(),
            key.into(),
            options,
            none(),
        );
        bound.await.unwrap();
    }
    let outcome = publisher
        .publisher()
        .publish(message(Public, "session.started.v1"))
        .await;
    assert_eq!(outcome, PublishOutcome::Confirmed);
    wait_until("the event", TIMEOUT, async || {
        let passive = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let seen = channel
            .queue_declare(queue.into(), passive, none())
            .await
            .unwrap();
        (seen.message_count() == 1).then_some(())
    })
    .await;
    connection.close(200, "done".into()).await.unwrap();
}
