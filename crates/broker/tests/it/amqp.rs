use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use broker::{
    Acknowledgement, BatchOptions, Broker, BrokerState, ConsumeOptions, PublishOutcome, Queue,
};
use event_types::Exchange;
use lapin::options::BasicGetOptions;
use test_kit::{TestBroker, wait_until};
use tokio::time::Instant;

use crate::proxy::Proxy;
use crate::{
    TIMEOUT, connected, delete_queue, feedback, message, next, on_rabbitmq, recording_handler,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_message_of_a_batch_gets_its_own_outcome() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let (handler, mut seen) = recording_handler(|_| Acknowledgement::Ack);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        handler,
    );
    // The broker confirms several tags at once; every seventh message is unroutable.
    let lost = |n: usize| n % 7 == 3;
    for _ in 0..5 {
        let batch: Vec<_> = (0..400)
            .map(|n| {
                if lost(n) {
                    message(Exchange::Public, "weather.v1")
                } else {
                    feedback()
                }
            })
            .collect();
        let outcomes = broker.publisher().publish_batch(batch.clone()).await;
        for (n, outcome) in outcomes.iter().enumerate() {
            let expected = if lost(n) {
                PublishOutcome::Returned
            } else {
                PublishOutcome::Confirmed
            };
            assert_eq!(*outcome, expected, "message {n}");
        }
        for _ in batch.iter().enumerate().filter(|(n, _)| !lost(*n)) {
            next(&mut seen).await;
        }
    }
    let counted =
        async || (broker.consumers(Queue::WorksessionFeedback).await.unwrap() == 1).then_some(());
    wait_until("the consumer to be counted", TIMEOUT, counted).await;
    consumer.stop().await;
    broker.close().await;
    assert_eq!(broker.state(), BrokerState::Disconnected);
    assert!(matches!(
        broker.publisher().publish(feedback()).await,
        PublishOutcome::Unsent(_)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_message_is_dead_lettered_at_once_and_a_deadly_one_after_ten_times() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&panics);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        move |delivery| {
            let counted = Arc::clone(&counted);
            async move {
                if delivery.routing_key == "notification.failed.v1" {
                    counted.fetch_add(1, Ordering::SeqCst);
                    panic!("on purpose");
                }
                Acknowledgement::DeadLetter("unreadable".to_owned())
            }
        },
    );
    let (unreadable, deadly) = (
        feedback(),
        message(Exchange::Public, "notification.failed.v1"),
    );
    assert_eq!(
        broker.publisher().publish(unreadable.clone()).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(dead_letter_id(&kit).await, unreadable.id.to_string());
    assert_eq!(
        broker.publisher().publish(deadly.clone()).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(dead_letter_id(&kit).await, deadly.id.to_string());
    assert!(
        (10..=11).contains(&panics.load(Ordering::SeqCst)),
        "{panics:?}"
    );
    consumer.stop().await;
    broker.close().await;
}

/// Takes the next message out of the dead-letter queue; returns its id.
async fn dead_letter_id(kit: &TestBroker) -> String {
    let connection = lapin::Connection::connect(kit.url(), lapin::ConnectionProperties::default())
        .await
        .unwrap();
    let channel = connection.create_channel().await.unwrap();
    let queue = format!("{}work.parked", kit.prefix());
    let id = wait_until("a dead letter", TIMEOUT, async || {
        let options = BasicGetOptions { no_ack: true };
        let got = channel
            .basic_get(queue.as_str().into(), options)
            .await
            .unwrap()?;
        Some(
            got.delivery
                .properties
                .message_id()
                .as_ref()
                .unwrap()
                .to_string(),
        )
    })
    .await;
    connection.close(200, "done".into()).await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_requeued_message_is_redelivered_and_never_dead_lettered() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let tries = Arc::new(AtomicUsize::new(0));
    let (handler, mut seen) =
        recording_handler(move |_| match tries.fetch_add(1, Ordering::SeqCst) {
            0..3 => Acknowledgement::Retry,
            _ => Acknowledgement::Ack,
        });
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        handler,
    );
    let sent = feedback();
    assert_eq!(
        broker.publisher().publish(sent.clone()).await,
        PublishOutcome::Confirmed
    );
    for _ in 0..4 {
        assert_eq!(next(&mut seen).await.id, sent.id);
    }
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publisher_and_consumer_recover_after_their_connections_were_cut() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let proxy = Proxy::before(&kit).await;
    let broker = Broker::connect(&proxy.url(&kit).parse().unwrap(), kit.prefix(), "test");
    let (handler, mut seen) = recording_handler(|_| Acknowledgement::Ack);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        handler,
    );
    for round in 0..3 {
        broker.publisher().ready().await;
        let sent = feedback();
        assert_eq!(
            broker.publisher().publish(sent.clone()).await,
            PublishOutcome::Confirmed,
            "round {round}"
        );
        while next(&mut seen).await.id != sent.id {}
        proxy.cut(false);
        let gone = async || (broker.state() == BrokerState::Disconnected).then_some(());
        wait_until("the loss to be noticed", Duration::from_secs(5), gone).await;
        assert!(!matches!(
            broker.publisher().publish(feedback()).await,
            PublishOutcome::Confirmed
        ));
        assert!(broker.consumers(Queue::WorksessionFeedback).await.is_err());
        proxy.cut(true);
    }
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_declares_its_deleted_queue_again_and_continues() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let (handler, mut seen) = recording_handler(|_| Acknowledgement::Ack);
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    let publisher = broker.publisher();
    let before = feedback();
    assert_eq!(
        publisher.publish(before.clone()).await,
        PublishOutcome::Confirmed
    );
    assert_eq!(next(&mut seen).await.id, before.id);
    delete_queue(&kit, "worksession.feedback").await;
    let after = feedback();
    // It is returned until the queue exists again.
    wait_until("a queue to take it", TIMEOUT, async || {
        (publisher.publish(after.clone()).await == PublishOutcome::Confirmed).then_some(())
    })
    .await;
    assert_eq!(next(&mut seen).await.id, after.id);
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_consumer_continues_if_its_queue_is_deleted_while_it_holds_messages() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let (taken, mut batches) = tokio::sync::mpsc::unbounded_channel();
    let release = Arc::new(tokio::sync::Semaphore::new(0));
    let released = Arc::clone(&release);
    let options = BatchOptions::default();
    let consumer = broker.consume_batches(Queue::WorksessionFeedback, options, move |batch| {
        for delivery in &batch {
            taken.send(delivery.id).unwrap();
        }
        let released = Arc::clone(&released);
        async move {
            // Once the semaphore is closed, every batch ends at once.
            let _ = released.acquire().await;
            batch.iter().map(|_| Acknowledgement::Ack).collect()
        }
    });
    let publisher = broker.publisher();
    for _ in 0..4 {
        assert_eq!(
            publisher.publish(feedback()).await,
            PublishOutcome::Confirmed
        );
    }
    batches.recv().await.unwrap();
    delete_queue(&kit, "worksession.feedback").await;
    // Time for the client to learn of it, which it does not report.
    tokio::time::sleep(Duration::from_secs(1)).await;
    release.close();
    let after = feedback();
    wait_until("a queue to take it", TIMEOUT, async || {
        (publisher.publish(after.clone()).await == PublishOutcome::Confirmed).then_some(())
    })
    .await;
    while batches.recv().await.unwrap() != after.id {}
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_grow_with_the_backlog_and_leave_nothing_unacknowledged() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let unreadable = feedback();
    let (largest, tries) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (done, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let (size, count, bad) = (Arc::clone(&largest), Arc::clone(&tries), unreadable.id);
    let consumer = broker.consume_batches(
        Queue::WorksessionFeedback,
        BatchOptions { most: 100 },
        move |batch| {
            size.fetch_max(batch.len(), Ordering::SeqCst);
            // Half of one batch is requeued.
            let again = count.fetch_add(1, Ordering::SeqCst) == 2;
            let done = done.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                let mut acks = Vec::new();
                for (n, delivery) in batch.iter().enumerate() {
                    if delivery.id == bad {
                        acks.push(Acknowledgement::DeadLetter("on purpose".to_owned()));
                    } else if again && n % 2 == 0 {
                        acks.push(Acknowledgement::Retry);
                    } else {
                        acks.push(Acknowledgement::Ack);
                        done.send(delivery.id).unwrap();
                    }
                }
                acks
            }
        },
    );
    let mut batch: Vec<_> = (0..1_000).map(|_| feedback()).collect();
    batch.insert(700, unreadable.clone());
    let wanted: std::collections::HashSet<_> = batch.iter().map(|message| message.id).collect();
    let outcomes = broker.publisher().publish_batch(batch).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == PublishOutcome::Confirmed)
    );
    let mut received = std::collections::HashSet::new();
    while received.len() < 1_000 {
        let id = tokio::time::timeout(TIMEOUT, seen.recv())
            .await
            .unwrap()
            .unwrap();
        assert!(wanted.contains(&id) && received.insert(id), "each once");
    }
    assert_eq!(dead_letter_id(&kit).await, unreadable.id.to_string());
    assert_eq!(largest.load(Ordering::SeqCst), 100);
    consumer.stop().await;
    broker.close().await;
    // A message without an acknowledgement would go to the next consumer.
    let broker = connected(&kit).await;
    let (handler, mut left) = recording_handler(|_| Acknowledgement::Ack);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        handler,
    );
    let last = feedback();
    broker.publisher().publish(last.clone()).await;
    assert_eq!(next(&mut left).await.id, last.id);
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_waits_to_fill_while_messages_keep_coming() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let (taken, mut batches) = tokio::sync::mpsc::unbounded_channel();
    let consumer = broker.consume_batches(
        Queue::WorksessionFeedback,
        BatchOptions { most: 16 },
        move |batch| {
            taken.send(batch.len()).unwrap();
            async move { batch.iter().map(|_| Acknowledgement::Ack).collect() }
        },
    );
    let since = Instant::now();
    let mut wanted = 0;
    while wanted < 400 {
        let few: Vec<_> = (0..4).map(|_| feedback()).collect();
        wanted += few.len();
        let outcomes = broker.publisher().publish_batch(few).await;
        assert!(outcomes.iter().all(|one| *one == PublishOutcome::Confirmed));
    }
    let (mut count, mut received) = (0_u128, 0);
    while received < wanted {
        let batch = tokio::time::timeout(TIMEOUT, batches.recv()).await;
        received += batch.unwrap().unwrap();
        count += 1;
    }
    // Either many batches are full, or there is time between them.
    let slow = since.elapsed().as_millis() / 10;
    assert!(
        count <= 400 / 12 + slow,
        "{count} batches in {:?}",
        since.elapsed()
    );
    consumer.stop().await;
    broker.close().await;
}
