use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::{
    Acknowledgement, Broker, ConsumeOptions, DeadLetterError, DeadLetterQueue, Message,
    PublishOutcome, Queue,
};
use event_types::Exchange;
use test_kit::{TestBroker, wait_until};
use uuid::Uuid;

use crate::{PATIENCE, connected, delete_queue, next, on_rabbitmq, telling, told};

/// Consumes the feedback queue, and rejects messages while `mended` is false.
fn consume(
    broker: &Broker,
    mended: &Arc<AtomicBool>,
) -> (
    broker::ConsumerHandle,
    tokio::sync::mpsc::UnboundedReceiver<broker::Delivery>,
) {
    let mended = Arc::clone(mended);
    let (handler, seen) = telling(move |_| match mended.load(Ordering::SeqCst) {
        true => Acknowledgement::Ack,
        false => Acknowledgement::DeadLetter("unreadable".to_owned()),
    });
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    (consumer, seen)
}

async fn opened(kit: &TestBroker) -> DeadLetterQueue {
    DeadLetterQueue::connect(&kit.url().parse().unwrap(), kit.prefix(), "test")
        .await
        .unwrap()
}

async fn parked(queue: &DeadLetterQueue, count: u32) {
    let so_many = async || (queue.count().await.unwrap() == count).then_some(());
    wait_until("the parking queue's count", PATIENCE, so_many).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listing_removes_no_dead_letters_and_a_replay_reaches_their_queue() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let mended = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &mended);
    let batch: Vec<Message> = (0..300).map(|_| told()).collect();
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
    let queue = opened(&kit).await;
    parked(&queue, 300).await;

    let before = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    for _ in 0..3 {
        let mut hand = queue.take().await.unwrap();
        let mut looked = hand.next(100).await.unwrap();
        looked.extend(hand.next(200).await.unwrap());
        assert_eq!(looked.len(), 300);
        let one = &looked[0];
        assert_eq!(one.queue.as_deref(), Some("worksession.feedback"));
        assert_eq!(one.event_type, "notification.delivered.v1");
        assert_eq!(one.cause.as_deref(), Some("rejected"));
        assert!(one.parked_at.is_some_and(|at| at > before));
        let mut ids: Vec<String> = looked.iter().map(|one| one.id.clone().unwrap()).collect();
        let mut expected = sent.clone();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
        // While one connection holds them, no other one sees them.
        assert_eq!(queue.count().await.unwrap(), 0);
        let mut other = queue.take().await.unwrap();
        assert!(other.next(1).await.unwrap().is_empty());
        hand.put_down().await.unwrap();
        parked(&queue, 300).await;
    }

    // While the consumer still rejects them, replayed messages become dead letters again.
    let mut hand = queue.take().await.unwrap();
    let some = hand.next(10).await.unwrap();
    let some: Vec<_> = some.iter().collect();
    let outcomes = hand.send_back(&some).await.unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    hand.put_down().await.unwrap();
    parked(&queue, 300).await;
    while seen.try_recv().is_ok() {}

    mended.store(true, Ordering::SeqCst);
    let mut hand = queue.take().await.unwrap();
    let all = hand.next(300).await.unwrap();
    let (dropped, kept) = all.split_at(5);
    hand.discard(&dropped.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    let outcomes = hand
        .send_back(&kept.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    hand.put_down().await.unwrap();
    let mut ids = Vec::new();
    for _ in kept {
        ids.push(next(&mut seen).await.id.to_string());
    }
    ids.sort();
    let mut expected: Vec<String> = kept.iter().map(|one| one.id.clone().unwrap()).collect();
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
    let mended = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &mended);
    broker.publisher().publish(told()).await;
    next(&mut seen).await;
    let queue = opened(&kit).await;
    parked(&queue, 1).await;
    consumer.stop().await;
    delete_queue(&kit, "worksession.feedback").await;
    let connection = kit.connect().await;
    // Posted by hand, without a queue and without an id.
    kit.post(&connection, "work.parked", [(None, b"?".to_vec())])
        .await;

    let mut hand = queue.take().await.unwrap();
    let all = hand.next(2).await.unwrap();
    let outcomes = hand
        .send_back(&all.iter().collect::<Vec<_>>())
        .await
        .unwrap();
    let reasons: Vec<String> = outcomes.into_iter().map(|one| one.unwrap_err()).collect();
    assert!(reasons[0].contains("no longer exists"), "{reasons:?}");
    assert!(reasons[1].contains("name the queue"), "{reasons:?}");
    hand.put_down().await.unwrap();
    parked(&queue, 2).await;
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
    assert!(matches!(error, DeadLetterError::Away(_)), "{error}");
    assert!(!error.to_string().contains("hunter2"), "{error}");
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let queue = opened(&kit).await;
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
    let mended = Arc::new(AtomicBool::new(false));
    let (consumer, mut seen) = consume(&broker, &mended);
    let id = Uuid::now_v7();
    let message = Message {
        exchange: Exchange::Public,
        routing_key: "webhook.disabled.v1".to_owned(),
        id,
        body: (*b"x").into(),
        listened: false,
    };
    broker.publisher().publish(message).await;
    next(&mut seen).await;
    let queue = opened(&kit).await;
    // Each time it becomes a dead letter, it looks as it did the first time.
    for _ in 0..3 {
        parked(&queue, 1).await;
        let mut hand = queue.take().await.unwrap();
        let all = hand.next(1).await.unwrap();
        assert_eq!(all[0].id.as_deref(), Some(id.to_string().as_str()));
        assert_eq!(all[0].event_type, "webhook.disabled.v1");
        assert_eq!(all[0].queue.as_deref(), Some("worksession.feedback"));
        assert_eq!(all[0].body, b"x");
        hand.send_back(&[&all[0]]).await.unwrap();
        hand.put_down().await.unwrap();
        assert_eq!(next(&mut seen).await.id, id);
    }
    consumer.stop().await;
    queue.close().await;
    broker.close().await;
}
