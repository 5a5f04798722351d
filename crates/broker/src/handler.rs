use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt;

use crate::{Acknowledgement, Delivery};

type AckFuture = Pin<Box<dyn Future<Output = Vec<Acknowledgement>> + Send>>;

/// A consumer's function as a trait object, so that queues can store handlers of any type. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handler(Arc<dyn Fn(Vec<Delivery>) -> AckFuture + Send + Sync>);

impl Handler {
    pub(crate) fn for_one<F, Fut>(handler: F) -> Self
    where
        F: Fn(Delivery) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Acknowledgement> + Send + 'static,
    {
        let handler = Arc::new(handler);
        Self::for_batches(move |batch| {
            let handler = Arc::clone(&handler);
            async move {
                let mut acks = Vec::with_capacity(batch.len());
                for delivery in batch {
                    acks.push(handler(delivery).await);
                }
                acks
            }
        })
    }

    pub(crate) fn for_batches<F, Fut>(handler: F) -> Self
    where
        F: Fn(Vec<Delivery>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Acknowledgement>> + Send + 'static,
    {
        Self(Arc::new(move |batch| Box::pin(handler(batch))))
    }

    /// Returns an acknowledgement for each delivery, in order; `None` where the handler fails.
    pub(crate) async fn handle(&self, batch: Vec<Delivery>) -> Vec<Option<Acknowledgement>> {
        let all_at_once = self.try_handle(batch.clone()).await;
        match all_at_once {
            Some(acks) => acks.into_iter().map(Some).collect(),
            None if batch.len() == 1 => vec![None],
            None => {
                let mut acks = Vec::with_capacity(batch.len());
                for delivery in batch {
                    let alone = self.try_handle(vec![delivery]).await;
                    acks.push(alone.and_then(|mut acks| acks.pop()));
                }
                acks
            }
        }
    }

    /// Returns `None` when the handler panics or does not return an acknowledgement for each delivery.
    async fn try_handle(&self, batch: Vec<Delivery>) -> Option<Vec<Acknowledgement>> {
        let count = batch.len();
        // Both the call and the future that it returns may panic.
        let handling = AssertUnwindSafe(async { (self.0)(batch).await }).catch_unwind();
        handling.await.ok().filter(|acks| acks.len() == count)
    }
}
