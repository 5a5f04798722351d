use std::time::Duration;

use broker::{Broker, ConsumeOptions, Outcome, Queue, Verdict};
use event_types::Exchange;

use crate::{message, next, started, telling};

#[tokio::test]
async fn a_publish_is_confirmed_when_its_consumer_has_answered() {
    let broker = Broker::memory();
    let publisher = broker.publisher();
    assert_eq!(
        publisher.publish(started()).await,
        Outcome::Nacked,
        "nobody consumes yet"
    );
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "weather.v1"))
            .await,
        Outcome::Returned
    );

    let (handler, mut seen) = telling(|_| Verdict::Ack);
    let consumer = broker.consume(Queue::NotifyChat, ConsumeOptions::default(), handler);
    let sent = started();
    assert_eq!(publisher.publish(sent.clone()).await, Outcome::Confirmed);
    assert_eq!(next(&mut seen).await.id, sent.id);
    assert_eq!(broker.consumers(Queue::NotifyChat).await.unwrap(), 1);

    consumer.stop().await;
    assert_eq!(publisher.publish(started()).await, Outcome::Nacked);
    assert_eq!(broker.consumers(Queue::NotifyChat).await.unwrap(), 0);
}

#[tokio::test]
async fn what_a_consumer_refuses_is_not_confirmed() {
    let broker = Broker::memory();
    let publisher = broker.publisher();
    let _consumer = broker.consume(
        Queue::NotifyChat,
        ConsumeOptions::default(),
        |delivery| async move {
            match delivery.routing_key.as_str() {
                "session.started.v1" => Verdict::Retry,
                "session.submitted.v1" => Verdict::Park("unreadable".to_owned()),
                _ => panic!("on purpose"),
            }
        },
    );
    assert_eq!(publisher.publish(started()).await, Outcome::Nacked);
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "session.submitted.v1"))
            .await,
        Outcome::Parked("unreadable".to_owned())
    );
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "session.abandoned.v1"))
            .await,
        Outcome::Nacked
    );
}

#[tokio::test]
async fn stopping_a_consumer_waits_for_what_it_has_begun() {
    let broker = Broker::memory();
    let consumer = broker.consume(Queue::NotifyChat, ConsumeOptions::default(), |_| async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Verdict::Ack
    });
    let publisher = broker.publisher();
    let publish = tokio::spawn(async move { publisher.publish(started()).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    consumer.stop().await;
    assert!(publish.is_finished() || publish.await.unwrap() == Outcome::Confirmed);
}
