use std::time::Duration;

use broker::{
    Acknowledgement, BatchOptions, Broker, ConsumeOptions, Message, PublishOutcome, Queue,
};
use event_types::Exchange;

use crate::{feedback, message, next, recording_handler};

#[tokio::test]
async fn a_publish_is_confirmed_once_its_consumer_has_acknowledged() {
    let broker = Broker::memory();
    let publisher = broker.publisher();
    assert_eq!(
        publisher.publish(feedback()).await,
        PublishOutcome::Nacked,
        "nobody consumes yet"
    );
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "weather.v1"))
            .await,
        PublishOutcome::Returned
    );

    let (handler, mut seen) = recording_handler(|_| Acknowledgement::Ack);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        handler,
    );
    let sent = feedback();
    assert_eq!(
        publisher.publish(sent.clone()).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(next(&mut seen).await.id, sent.id);
    assert_eq!(
        broker.consumers(Queue::WorksessionFeedback).await.unwrap(),
        1
    );

    consumer.stop().await;
    assert_eq!(publisher.publish(feedback()).await, PublishOutcome::Nacked);
    assert_eq!(
        broker.consumers(Queue::WorksessionFeedback).await.unwrap(),
        0
    );
}

#[tokio::test]
async fn a_message_that_its_consumer_refuses_is_not_confirmed() {
    let broker = Broker::memory();
    let publisher = broker.publisher();
    let _consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        |delivery| async move {
            match delivery.routing_key.as_str() {
                "notification.delivered.v1" => Acknowledgement::Retry,
                "notification.failed.v1" => Acknowledgement::DeadLetter("unreadable".to_owned()),
                _ => panic!("on purpose"),
            }
        },
    );
    assert_eq!(publisher.publish(feedback()).await, PublishOutcome::Nacked);
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "notification.failed.v1"))
            .await,
        PublishOutcome::Unreadable("unreadable".to_owned())
    );
    assert_eq!(
        publisher
            .publish(message(Exchange::Public, "notification.skipped.v1"))
            .await,
        PublishOutcome::Nacked
    );
}

#[tokio::test]
async fn stopping_a_consumer_waits_for_deliveries_in_progress() {
    let broker = Broker::memory();
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        |_| async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Acknowledgement::Ack
        },
    );
    let publisher = broker.publisher();
    let publish = tokio::spawn(async move { publisher.publish(feedback()).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    consumer.stop().await;
    assert!(publish.is_finished() || publish.await.unwrap() == PublishOutcome::Confirmed);
}

#[tokio::test]
async fn a_message_for_two_queues_is_confirmed_only_when_both_have_it() {
    let broker = Broker::memory();
    let publisher = broker.publisher();
    let event = || Message {
        has_subscriber: true,
        ..message(Exchange::Public, "session.started.v1")
    };
    let (handler, mut chat) = recording_handler(|_| Acknowledgement::Ack);
    let _chat = broker.consume(Queue::NotifyChat, ConsumeOptions::default(), handler);
    let early = event();
    assert_eq!(
        publisher.publish(early.clone()).await,
        PublishOutcome::Nacked
    );
    let (handler, mut webhooks) = recording_handler(|_| Acknowledgement::Ack);
    let options = ConsumeOptions::default();
    let _webhooks = broker.consume(Queue::WorksessionWebhooks, options, handler);
    let sent = event();
    assert_eq!(
        publisher.publish(sent.clone()).await,
        PublishOutcome::Confirmed
    );
    let received = [next(&mut chat).await.id, next(&mut chat).await.id];
    assert_eq!(
        received,
        [early.id, sent.id],
        "one may hear what is sent again"
    );
    assert_eq!(next(&mut webhooks).await.id, sent.id);
}

#[tokio::test]
async fn each_message_of_a_batch_gets_its_own_outcome_even_if_one_panics_the_consumer() {
    let broker = Broker::memory();
    let sizes = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&sizes);
    let _consumer = broker.consume_batches(
        Queue::WorksessionFeedback,
        BatchOptions { most: 4 },
        move |batch| {
            seen.lock().unwrap().push(batch.len());
            let acks = batch
                .iter()
                .map(|delivery| match delivery.routing_key.as_str() {
                    "notification.failed.v1" => {
                        Acknowledgement::DeadLetter("unreadable".to_owned())
                    }
                    "chat.tested.v1" => Acknowledgement::Retry,
                    "webhook.disabled.v1" => panic!("on purpose"),
                    _ => Acknowledgement::Ack,
                });
            let acks: Vec<_> = acks.collect();
            async move { acks }
        },
    );
    let batch = |keys: &[&str]| -> Vec<_> {
        keys.iter()
            .map(|key| message(Exchange::Public, key))
            .collect()
    };
    let unreadable = || PublishOutcome::Unreadable("unreadable".to_owned());
    let good = "notification.delivered.v1";
    let mixed = batch(&[
        good,
        "notification.failed.v1",
        "weather.v1",
        "chat.tested.v1",
        good,
        good,
    ]);
    assert_eq!(
        broker.publisher().publish_batch(mixed).await,
        [
            PublishOutcome::Confirmed,
            unreadable(),
            PublishOutcome::Returned,
            PublishOutcome::Nacked,
            PublishOutcome::Confirmed,
            PublishOutcome::Confirmed
        ]
    );
    assert_eq!(
        *sizes.lock().unwrap(),
        [4, 1],
        "as large as it may be, the rest after it"
    );
    let deadly = batch(&[good, "webhook.disabled.v1", "notification.failed.v1"]);
    assert_eq!(
        broker.publisher().publish_batch(deadly).await,
        [
            PublishOutcome::Confirmed,
            PublishOutcome::Nacked,
            unreadable()
        ]
    );
}
