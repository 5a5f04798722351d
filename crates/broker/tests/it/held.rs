//! Batches that their handler holds for longer than it works on them.

use std::collections::HashSet;
use std::sync::Arc;

use broker::{BatchOptions, Broker, ConsumerHandle, Message, Queue, Verdict};
use test_kit::TestBroker;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use crate::{PATIENCE, connected, on_rabbitmq, told};

/// Consumes in batches of at most five, each held until it gets a permit, the first ones last.
fn hold(
    broker: &Broker,
    first: Uuid,
    release: &Arc<Semaphore>,
) -> (ConsumerHandle, mpsc::UnboundedReceiver<Vec<Uuid>>) {
    let (taken, batches) = mpsc::unbounded_channel();
    let release = Arc::clone(release);
    let options = BatchOptions {
        most: 5,
        held: Some(100),
    };
    let consumer = broker.consume_batches(Queue::WorksessionFeedback, options, move |batch| {
        let (taken, release) = (taken.clone(), Arc::clone(&release));
        async move {
            let ids: Vec<Uuid> = batch.iter().map(|delivery| delivery.id).collect();
            taken.send(ids.clone()).unwrap();
            if ids.contains(&first) {
                release.acquire().await.unwrap().forget();
            }
            batch.iter().map(|_| Verdict::Ack).collect()
        }
    });
    (consumer, batches)
}

async fn take(batches: &mut mpsc::UnboundedReceiver<Vec<Uuid>>, wanted: usize) -> HashSet<Uuid> {
    let mut ids = HashSet::new();
    while ids.len() < wanted {
        let batch = tokio::time::timeout(PATIENCE, batches.recv()).await;
        let batch = batch.unwrap().unwrap();
        assert!(batch.len() <= 5);
        ids.extend(batch);
    }
    ids
}

async fn publish(broker: &Broker, count: usize) -> Vec<Message> {
    let messages: Vec<Message> = (0..count).map(|_| told()).collect();
    broker.publisher().publish_batch(messages.clone()).await;
    messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_behind_a_held_batch_comes_again_with_it_and_nothing_once_it_is_over() {
    if !on_rabbitmq() {
        return;
    }
    let kit = TestBroker::fresh();
    let broker = connected(&kit).await;
    let messages = publish(&broker, 50).await;
    let wanted: HashSet<Uuid> = messages.iter().map(|message| message.id).collect();
    let never = Arc::new(Semaphore::new(0));
    let (consumer, mut batches) = hold(&broker, messages[0].id, &never);
    // The others do not wait for the first one.
    assert_eq!(take(&mut batches, 50).await, wanted);
    // As in a crash: none was acknowledged, because nobody knows yet what becomes of the first.
    drop(consumer);
    broker.close().await;

    let broker = connected(&kit).await;
    let release = Arc::new(Semaphore::new(0));
    let (consumer, mut batches) = hold(&broker, messages[0].id, &release);
    assert_eq!(take(&mut batches, 50).await, wanted);
    release.add_permits(1);
    consumer.stop().await;
    broker.close().await;

    let broker = connected(&kit).await;
    let last = publish(&broker, 1).await;
    let (consumer, mut batches) = hold(&broker, Uuid::nil(), &release);
    assert_eq!(take(&mut batches, 1).await, HashSet::from([last[0].id]));
    consumer.stop().await;
    broker.close().await;
}
