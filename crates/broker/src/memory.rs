use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::broker::Handler;
use crate::{ConsumeOptions, Delivery, Message, Outcome, Queue, Verdict};

/// How long a publish waits for the consumers' commits.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a stopping consumer waits for what it has begun.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls the bound consumers directly and confirms what all of them have committed. Nothing is kept in
/// memory: what is not confirmed stays in the publisher's outbox.
#[derive(Default)]
pub(crate) struct Memory {
    queues: RwLock<HashMap<Queue, Vec<Arc<Bound>>>>,
    turn: AtomicUsize,
}

struct Bound {
    handler: Handler,
    concurrency: usize,
    slots: Semaphore,
}

impl Memory {
    pub(crate) fn consume(
        self: &Arc<Self>,
        queue: Queue,
        options: ConsumeOptions,
        handler: Handler,
        mut stopping: watch::Receiver<()>,
    ) -> JoinHandle<()> {
        let concurrency = options.concurrency.max(1);
        let bound = Arc::new(Bound {
            handler,
            concurrency,
            slots: Semaphore::new(concurrency),
        });
        self.queues
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(queue)
            .or_default()
            .push(Arc::clone(&bound));
        let memory = Arc::clone(self);
        tokio::spawn(async move {
            // Ends with an error, which is the sign: the handle is gone.
            let _ = stopping.changed().await;
            memory.unbind(queue, &bound);
            let all = u32::try_from(bound.concurrency).unwrap_or(u32::MAX);
            let _ = timeout(STOP_TIMEOUT, bound.slots.acquire_many(all)).await;
            bound.slots.close();
        })
    }

    fn unbind(&self, queue: Queue, gone: &Arc<Bound>) {
        if let Some(bound) = self
            .queues
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(&queue)
        {
            bound.retain(|one| !Arc::ptr_eq(one, gone));
        }
    }

    pub(crate) fn consumers(&self, queue: Queue) -> u32 {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        queues
            .get(&queue)
            .map_or(0, |bound| u32::try_from(bound.len()).unwrap_or(u32::MAX))
    }

    /// The consumer whose turn it is.
    fn next(&self, queue: Queue) -> Option<Arc<Bound>> {
        let queues = self.queues.read().unwrap_or_else(PoisonError::into_inner);
        let bound = queues.get(&queue).filter(|bound| !bound.is_empty())?;
        bound
            .get(self.turn.fetch_add(1, Ordering::Relaxed) % bound.len())
            .cloned()
    }

    pub(crate) async fn publish(&self, messages: Vec<Message>) -> Vec<Outcome> {
        join_all(
            messages
                .into_iter()
                .map(|message| self.publish_one(message)),
        )
        .await
    }

    async fn publish_one(&self, message: Message) -> Outcome {
        let mut outcomes = Vec::new();
        for queue in Queue::routed(message.exchange, &message.routing_key) {
            let Some(bound) = self.next(queue) else {
                // The queue exists, its consumer does not yet: unlike a missing queue this passes.
                return Outcome::Nacked;
            };
            let delivery = Delivery {
                id: message.id,
                routing_key: message.routing_key.clone(),
                body: Arc::clone(&message.body),
            };
            // A task of its own: a publish that gives up waiting does not tear the consumer's work apart.
            outcomes.push(tokio::spawn(async move { bound.deliver(delivery).await }));
        }
        if outcomes.is_empty() {
            return Outcome::Returned;
        }
        match timeout(PUBLISH_TIMEOUT, join_all(outcomes)).await {
            Err(_) => Outcome::Unconfirmed("a consumer did not answer in time".to_owned()),
            Ok(answers) => sum_up(
                answers
                    .into_iter()
                    .map(|answer| answer.unwrap_or(Outcome::Nacked)),
            ),
        }
    }
}

/// Not taken by one is not taken; what one cannot read is set aside only when the others have it.
fn sum_up(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    outcomes.fold(Outcome::Confirmed, |all, one| match (&all, &one) {
        (Outcome::Nacked, _) => all,
        (_, Outcome::Nacked) | (Outcome::Confirmed, _) => one,
        _ => all,
    })
}

impl Bound {
    async fn deliver(&self, delivery: Delivery) -> Outcome {
        let Ok(_slot) = self.slots.acquire().await else {
            return Outcome::Nacked;
        };
        match AssertUnwindSafe((self.handler)(delivery))
            .catch_unwind()
            .await
        {
            Ok(Verdict::Ack) => Outcome::Confirmed,
            Ok(Verdict::Park(reason)) => Outcome::Parked(reason),
            Ok(Verdict::Retry) | Err(_) => Outcome::Nacked,
        }
    }
}
