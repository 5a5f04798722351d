use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::{
    Acknowledgement, Broker, ConsumeOptions, DeadLetterError, DeadLetterQueue, Message,
    PublishOutcome, Queue,
};
use event_types::Exchange;
use test_kit::{TestBroker, wait_until};
use uuid::Uuid;

use crate::{TIMEOUT, connected, delete_queue, feedback, next, on_rabbitmq, recording_handler};

/// Consumes the feedback queue, and rejects messages while `is_readable` is false.
fn consume(
    broker: &Broker,
    is_readable: &Arc<AtomicBool>,
) -> (
    broker::ConsumerHandle,
    tokio::sync::mpsc::UnboundedReceiver<broker::Delivery>,
) {
    let is_readable = Arc::clone(is_readable);
    let (handler, seen) = recording_handler(move |_| match is_readable.load(Ordering::SeqCst) {
        true => Acknowledgement::Ack,
        false => Acknowledgement::DeadLetter("unreadable".to_owned()),
    });
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    (consumer, seen)
}

async fn connect_queue(kit: &TestBroker) -> DeadLetterQueue {
    DeadLetterQueue::connect(&kit.url().parse().unwrap(), kit.prefix(), "test")
        .await
        .unwrap()
}

async fn wait_for_dead_letters(queue: &DeadLetterQueue, count: u32) {
    let complete = async || (queue.count().await.unwrap() == count).then_some(());
    wait_until("the dead-letter queue's count", TIMEOUT, complete).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_removes_no_dead_letters_and_a_replay_reaches_their_queue() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let is_readable = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &is_readable);
    let batch: Vec<Message> = (0..300).map(|_| feedback()).collect();
    let sent: Vec<String> = batch.iter().map(|message| message.id.to_string()).collect();
    let outcomes = broker.publisher().publish_batch(batch).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == PublishOutcome::Confirmed)
    );
    for _ in 0..300 {
        next(&mut seen).await;
    }
    let queue = connect_queue(&kit).await;
    wait_for_dead_letters(&queue, 300).await;

    let before = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    for _ in 0..3 {
        let mut checkout = queue.check_out().await.unwrap();
        let mut listed = checkout.next(100).await.unwrap();
        listed.extend(checkout.next(200).await.unwrap());
        assert_eq!(listed.len(), 300);
        let one = &listed[0];
        assert_eq!(one.queue.as_deref(), Some("worksession.feedback"));
        assert_eq!(one.event_type, "notification.delivered.v1");
        assert_eq!(one.cause.as_deref(), Some("rejected"));
        assert!(one.dead_lettered_at.is_some_and(|at| at > before));
        let mut ids: Vec<String> = listed.iter().map(|one| one.id.clone().unwrap()).collect();
        let mut expected = sent.clone();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
        // While one connection has them, no other one sees them.
        assert_eq!(queue.count().await.unwrap(), 0);
        let mut other = queue.check_out().await.unwrap();
        assert!(other.next(1).await.unwrap().is_empty());
        checkout.return_rest().await.unwrap();
        wait_for_dead_letters(&queue, 300).await;
    }

    // While the consumer still rejects them, replayed messages become dead letters again.
    let mut checkout = queue.check_out().await.unwrap();
    let some = checkout.next(10).await.unwrap();
    let some: Vec<_> = some.iter().collect();
    let outcomes = checkout.replay(&some).await.unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    checkout.return_rest().await.unwrap();
    wait_for_dead_letters(&queue, 300).await;
    while seen.try_recv().is_ok() {}

    is_readable.store(true, Ordering::SeqCst);
    let mut checkout = queue.check_out().await.unwrap();
    let all = checkout.next(300).await.unwrap();
    let (dropped, rest) = all.split_at(5);
    checkout
        .discard(&dropped.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    let outcomes = checkout
        .replay(&rest.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    checkout.return_rest().await.unwrap();
    let mut ids = Vec::new();
    for _ in rest {
        ids.push(next(&mut seen).await.id.to_string());
    }
    ids.sort();
    let mut expected: Vec<String> = rest.iter().map(|one| one.id.clone().unwrap()).collect();
    expected.sort();
    assert_eq!(ids, expected);
    assert_eq!(queue.count().await.unwrap(), 0);
    consumer.stop().await;
    queue.close().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_of_a_missing_or_unknown_queue_is_not_replayed() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let is_readable = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &is_readable);
    broker.publisher().publish(feedback()).await;
    next(&mut seen).await;
    let queue = connect_queue(&kit).await;
    wait_for_dead_letters(&queue, 1).await;
    consumer.stop().await;
    delete_queue(&kit, "worksession.feedback").await;
    let connection = kit.connect().await;
    // Posted by hand, without a queue and without an id.
    kit.post(&connection, "work.parked", [(None, b"?".to_vec())])
        .await;

    let mut checkout = queue.check_out().await.unwrap();
    let all = checkout.next(2).await.unwrap();
    let outcomes = checkout
        .replay(&all.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    let reasons: Vec<String> = outcomes.into_iter().map(|one| one.unwrap_err()).collect();
    assert!(reasons[0].contains("no longer exists"), "{reasons:?}");
    assert!(reasons[1].contains("name the queue"), "{reasons:?}");
    checkout.return_rest().await.unwrap();
    wait_for_dead_letters(&queue, 2).await;
    connection.close(200, "done".into()).await.unwrap();
    queue.close().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_broker_or_dead_letter_queue_is_reported_as_such() {
    let memory = DeadLetterQueue::connect(&"memory:".parse().unwrap(), "", "test").await;
    assert_eq!(memory.unwrap_err(), DeadLetterError::NoBroker);
    let nobody = "amqp://guest:hunter2@127.0.0.1:1".parse().unwrap();
    let error = DeadLetterQueue::connect(&nobody, "", "test")
        .await
        .unwrap_err();
    assert!(matches!(error, DeadLetterError::Unavailable(_)), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let queue = connect_queue(&kit).await;
    let name = format!("{}work.parked", kit.prefix());
    assert_eq!(
        queue.count().await.unwrap_err(),
        DeadLetterError::NoQueue(name)
    );
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_dead_letter_looks_like_a_new_one() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let is_readable = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &is_readable);
    let id = Uuid::now_v7();
    let message = Message {
        exchange: Exchange::Public,
        routing_key: "webhook.disabled.v1".to_owned(),
        id,
        body: (*b"x").into(),
        has_subscriber: false,
    };
    broker.publisher().publish(message).await;
    next(&mut seen).await;
    let queue = connect_queue(&kit).await;
    // Each time it becomes a dead letter, it looks as it did the first time.
    for _ in 0..3 {
        wait_for_dead_letters(&queue, 1).await;
        let mut checkout = queue.check_out().await.unwrap();
        let all = checkout.next(1).await.unwrap();
        assert_eq!(all[0].id.as_deref(), Some(id.to_string().as_str()));
        assert_eq!(all[0].event_type, "webhook.disabled.v1");
        assert_eq!(all[0].queue.as_deref(), Some("worksession.feedback"));
        assert_eq!(all[0].body, b"x");
        checkout.replay(&[&all[0]]).await.unwrap();
        checkout.return_rest().await.unwrap();
        assert_eq!(next(&mut seen).await.id, id);
    }
    consumer.stop().await;
    queue.close().await;
    broker.close().await;
}
