use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::handler::Handler;
use crate::message::Flow;
use crate::{Acknowledgement, Delivery, Message, PublishOutcome, Queue};

/// How long a publish waits for the consumers' commits.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a stopping consumer waits for deliveries in progress.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls the bound consumers directly and confirms what all of them have committed. It stores nothing: unconfirmed
/// messages stay in the publisher's outbox.
#[derive(Default)]
pub(crate) struct MemoryBroker {
    queues: RwLock<HashMap<Queue, Vec<Arc<BoundConsumer>>>>,
    next_consumer: AtomicUsize,
}

struct BoundConsumer {
    handler: Handler,
    flow: Flow,
    slots: Semaphore,
}

/// Messages of one publish that one consumer gets together.
struct ConsumerShare {
    /// Their indexes in the publish.
    indexes: Vec<usize>,
    outcomes: JoinHandle<Vec<PublishOutcome>>,
}

impl MemoryBroker {
    pub(crate) fn consume(
        self: &Arc<Self>,
        queue: Queue,
        flow: Flow,
        handler: Handler,
        mut stopping: watch::Receiver<()>,
    ) -> JoinHandle<()> {
        let bound = Arc::new(BoundConsumer {
            handler,
            flow,
            slots: Semaphore::new(flow.concurrency),
        });
        self.queues
            .write()
            .entry(queue)
            .or_default()
            .push(Arc::clone(&bound));
        let memory = Arc::clone(self);
        tokio::spawn(async move {
            // It returns an error when the handle is gone.
            let _ = stopping.changed().await;
            memory.unbind(queue, &bound);
            let all = u32::try_from(bound.flow.concurrency).unwrap_or(u32::MAX);
            let _ = timeout(STOP_TIMEOUT, bound.slots.acquire_many(all)).await;
            bound.slots.close();
        })
    }

    fn unbind(&self, queue: Queue, removed: &Arc<BoundConsumer>) {
        if let Some(bound) = self.queues.write().get_mut(&queue) {
            bound.retain(|one| !Arc::ptr_eq(one, removed));
        }
    }

    pub(crate) fn consumers(&self, queue: Queue) -> u32 {
        let queues = self.queues.read();
        queues
            .get(&queue)
            .map_or(0, |bound| u32::try_from(bound.len()).unwrap_or(u32::MAX))
    }

    /// Returns the next consumer, round robin.
    fn next(&self, queue: Queue) -> Option<Arc<BoundConsumer>> {
        let queues = self.queues.read();
        let bound = queues.get(&queue).filter(|bound| !bound.is_empty())?;
        bound
            .get(self.next_consumer.fetch_add(1, Ordering::Relaxed) % bound.len())
            .cloned()
    }

    pub(crate) async fn publish(&self, messages: Vec<Message>) -> Vec<PublishOutcome> {
        let deadline = Instant::now() + PUBLISH_TIMEOUT;
        let mut outcomes = Vec::with_capacity(messages.len());
        let mut queues: HashMap<Queue, Vec<usize>> = HashMap::new();
        for (index, message) in messages.iter().enumerate() {
            let mut routed = false;
            for queue in Queue::routed(message) {
                queues.entry(queue).or_default().push(index);
                routed = true;
            }
            outcomes.push(if routed {
                PublishOutcome::Confirmed
            } else {
                PublishOutcome::Returned
            });
        }
        let mut shares = Vec::new();
        for (queue, indexes) in queues {
            match self.next(queue) {
                Some(bound) => shares.extend(self.share_out(queue, bound, indexes, &messages)),
                // The queue exists, but its consumer is not there yet. Unlike a missing queue, this is temporary.
                None => merge(
                    &mut outcomes,
                    indexes
                        .into_iter()
                        .map(|index| (index, PublishOutcome::Nacked)),
                ),
            }
        }
        for share in shares {
            let others = match timeout_at(deadline, share.outcomes).await {
                Err(_) => {
                    let unanswered = || {
                        PublishOutcome::Unconfirmed("a consumer did not answer in time".to_owned())
                    };
                    share.indexes.iter().map(|_| unanswered()).collect()
                }
                Ok(Err(_)) => share
                    .indexes
                    .iter()
                    .map(|_| PublishOutcome::Nacked)
                    .collect(),
                Ok(Ok(others)) => others,
            };
            merge(&mut outcomes, share.indexes.into_iter().zip(others));
        }
        outcomes
    }

    /// Distributes a queue's messages over its consumers, in batches as large as each one takes.
    fn share_out(
        &self,
        queue: Queue,
        first: Arc<BoundConsumer>,
        indexes: Vec<usize>,
        messages: &[Message],
    ) -> Vec<ConsumerShare> {
        let mut shares = Vec::new();
        let (mut bound, mut rest) = (first, indexes.as_slice());
        while !rest.is_empty() {
            let (taken, later) = rest.split_at(rest.len().min(bound.flow.batch));
            let batch: Vec<Delivery> = taken
                .iter()
                .filter_map(|index| messages.get(*index))
                .map(delivery)
                .collect();
            let consumer = Arc::clone(&bound);
            shares.push(ConsumerShare {
                indexes: taken.to_vec(),
                // A separate task, so that a publish that times out does not cancel the consumer's work.
                outcomes: tokio::spawn(async move { consumer.deliver(batch).await }),
            });
            rest = later;
            bound = self.next(queue).unwrap_or(bound);
        }
        shares
    }
}

fn delivery(message: &Message) -> Delivery {
    Delivery {
        id: message.id,
        routing_key: message.routing_key.clone(),
        body: Arc::clone(&message.body),
    }
}

/// Merges the outcomes of one queue's consumer into those of the others. A refusal by one is a refusal, and an
/// unreadable message counts as such only when all others have accepted it.
fn merge(outcomes: &mut [PublishOutcome], others: impl Iterator<Item = (usize, PublishOutcome)>) {
    let weight = |outcome: &PublishOutcome| match outcome {
        PublishOutcome::Nacked => 3,
        PublishOutcome::Unconfirmed(_) => 2,
        PublishOutcome::Unreadable(_) => 1,
        _ => 0,
    };
    for (index, one) in others {
        if let Some(all) = outcomes.get_mut(index)
            && weight(&one) > weight(all)
        {
            *all = one;
        }
    }
}

impl BoundConsumer {
    async fn deliver(&self, batch: Vec<Delivery>) -> Vec<PublishOutcome> {
        let Ok(_slot) = self.slots.acquire().await else {
            return batch.iter().map(|_| PublishOutcome::Nacked).collect();
        };
        let outcome = |ack| match ack {
            Some(Acknowledgement::Ack) => PublishOutcome::Confirmed,
            Some(Acknowledgement::DeadLetter(reason)) => PublishOutcome::Unreadable(reason),
            Some(Acknowledgement::Retry) | None => PublishOutcome::Nacked,
        };
        let acks = self.handler.handle(batch).await;
        acks.into_iter().map(outcome).collect()
    }
}
