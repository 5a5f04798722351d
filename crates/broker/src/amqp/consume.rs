use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery as Raw;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions,
    BasicRejectOptions,
};
use lapin::types::{FieldTable, ShortString};
use lapin::{Acker, Channel, Connection, Consumer};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::Amqp;
use super::declare::name;
use crate::backoff::Backoff;
use crate::handler::Handler;
use crate::message::Flow;
use crate::{Acknowledgement, Delivery, Queue};

/// How long a stopping consumer waits for deliveries in progress.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the broker may take to set up a consumer.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the client may take to pass an acknowledgement to the connection. It usually answers at once. If the
/// connection breaks at that moment, it may never answer, and the consumer would hang.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a batch waits for more deliveries when it follows a large one at once. Each batch costs its handler a transaction.
const FILL_TIMEOUT: Duration = Duration::from_millis(25);

/// A batch is large from 1/16 of the maximum. The next one then waits to fill, if it follows at once.
const LARGE_DIVISOR: usize = 16;

/// Consumes until it is stopped, and opens a new channel or connection after each loss.
pub(super) async fn run(
    amqp: Arc<Amqp>,
    queue: Queue,
    flow: Flow,
    handler: Handler,
    mut stopping: watch::Receiver<()>,
) {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        let connection = tokio::select! {
            _ = stopping.changed() => return,
            connection = amqp.consuming.ready() => match connection {
                Some(connection) => connection,
                None => return,
            },
        };
        let since = Instant::now();
        let opening = timeout(SET_UP_TIMEOUT, open(&connection, &amqp.prefix, queue, flow));
        let lost = match opening.await {
            Ok(Ok(open)) => consume(open, queue, flow, &handler, &mut stopping).await,
            // The queue may be missing, for example. A new connection declares it.
            Ok(Err(reason)) => {
                amqp.consuming.request_replacement(&connection);
                Err(reason)
            }
            Err(_) => {
                amqp.consuming.request_replacement(&connection);
                Err("no answer in time".to_owned())
            }
        };
        match lost {
            Ok(()) => return,
            Err(reason) => log::warn!("the consumer of {} restarts: {reason}", queue.name()),
        }
        drop(connection);
        amqp.consuming.suspect();
        if since.elapsed() > Duration::from_secs(10) {
            backoff.reset();
        }
        tokio::select! {
            _ = stopping.changed() => return,
            () = backoff.wait() => {}
        }
    }
}

/// Consumes on one channel. Returns `Ok` when it is stopped, `Err` when the channel is lost.
async fn consume(
    (channel, mut consumer): (Channel, Consumer),
    queue: Queue,
    flow: Flow,
    handler: &Handler,
    stopping: &mut watch::Receiver<()>,
) -> Result<(), String> {
    let mut work = JoinSet::new();
    // A batch that starts before this time follows a large one at once.
    let mut fill_until = None;
    let mut ended = false;
    while !ended {
        tokio::select! {
            biased;
            _ = stopping.changed() => break,
            Some(worked) = work.join_next(), if !work.is_empty() => {
                let mut worked = Some(worked);
                while let Some(worked_batch) = worked.or_else(|| work.try_join_next()) {
                    // This is not a panic of a handler; `Handler` catches those.
                    let count: usize = worked_batch.map_err(|error| error.to_string())??;
                    let large = count > 1 && count >= flow.batch / LARGE_DIVISOR;
                    fill_until = large.then(|| Instant::now() + FILL_TIMEOUT);
                    worked = None;
                }
            }
            delivery = consumer.next(), if work.len() < flow.concurrency => match delivery {
                Some(Ok(raw)) => {
                    let mut raws = vec![raw];
                    ended = add_available(&mut raws, &mut consumer, flow.batch)?;
                    let follows_large = fill_until.take().is_some_and(|until| Instant::now() < until);
                    if follows_large && !ended && raws.len() < flow.batch {
                        let filled = fill(&mut raws, &mut consumer, flow.batch);
                        tokio::select! {
                            _ = stopping.changed() => break,
                            filled = timeout(FILL_TIMEOUT, filled) => ended = filled.unwrap_or(Ok(false))?,
                        }
                    }
                    let batch = DeliveryBatch {
                        queue,
                        alone: flow.concurrency == 1,
                        raws,
                    };
                    work.spawn(batch.handle(handler.clone(), stopping.clone()));
                }
                Some(Err(error)) => return Err(error.to_string()),
                None => ended = true,
            },
        }
    }
    if ended {
        // Nobody else gets the deliveries in progress, so they are finished first.
        while work.join_next().await.is_some() {}
        return Err("cancelled by the broker".to_owned());
    }
    // Prefetched messages return to the queue when the channel closes.
    let ending = async {
        let _ = channel
            .basic_cancel(consumer.tag(), BasicCancelOptions::default())
            .await;
        while let Some(Ok(Ok(_))) = work.join_next().await {}
        let _ = channel.close(200, "stopping".into()).await;
    };
    if timeout(STOP_TIMEOUT, ending).await.is_err() {
        log::warn!(
            "the consumer of {} left deliveries unsettled; they will be redelivered",
            queue.name()
        );
    }
    Ok(())
}

async fn open(
    connection: &Connection,
    prefix: &str,
    queue: Queue,
    flow: Flow,
) -> Result<(Channel, Consumer), String> {
    let name = name(prefix, queue.name())?;
    let opening = async {
        let channel = connection.create_channel().await?;
        channel
            .basic_qos(flow.prefetch, BasicQosOptions::default())
            .await?;
        let consumer = channel
            .basic_consume(
                name,
                "".into(),
                BasicConsumeOptions::default(),
                FieldTable::default(),
            )
            .await?;
        Ok::<_, lapin::Error>((channel, consumer))
    };
    opening.await.map_err(|error| error.to_string())
}

/// Adds the deliveries that have already arrived; see [`fill`].
fn add_available(
    raws: &mut Vec<Raw>,
    consumer: &mut Consumer,
    limit: usize,
) -> Result<bool, String> {
    fill(raws, consumer, limit)
        .now_or_never()
        .unwrap_or(Ok(false))
}

/// Adds deliveries until there are `limit`. Returns whether the consumer ended before that, which the client reports
/// only once.
async fn fill(raws: &mut Vec<Raw>, consumer: &mut Consumer, limit: usize) -> Result<bool, String> {
    while raws.len() < limit {
        match consumer.next().await {
            Some(Ok(raw)) => raws.push(raw),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Deliveries that are handled together.
struct DeliveryBatch {
    queue: Queue,
    /// Whether no other batch is in progress, so that one acknowledgement can cover the whole batch.
    alone: bool,
    raws: Vec<Raw>,
}

impl DeliveryBatch {
    /// Runs the handler until each delivery has an acknowledgement, acknowledges them, and returns their number.
    ///
    /// A delivery to retry is not requeued. That would count against the delivery limit, and a database outage of a
    /// minute would dead-letter valid messages.
    ///
    /// Fails when a delivery could not be rejected or requeued, because a later acknowledgement would cover it too.
    async fn handle(
        self,
        handler: Handler,
        mut stopping: watch::Receiver<()>,
    ) -> Result<usize, String> {
        let count = self.raws.len();
        let mut open = Vec::with_capacity(count);
        for mut raw in self.raws {
            match take_delivery(&mut raw) {
                Some(delivery) => open.push((UnackedDelivery::new(raw), delivery)),
                None => reject(&UnackedDelivery::new(raw), "it has no message id").await?,
            }
        }
        let mut last: Option<UnackedDelivery> = None;
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        while !open.is_empty() {
            let batch = open.iter().map(|(_, delivery)| delivery.clone()).collect();
            let acks = handler.handle(batch).await;
            let mut to_retry = Vec::new();
            for ((unacked, delivery), ack) in open.into_iter().zip(acks) {
                match ack {
                    Some(Acknowledgement::Ack) if !self.alone => acknowledge(&unacked, false).await,
                    Some(Acknowledgement::Ack) => {
                        if last.as_ref().is_none_or(|last| last.tag < unacked.tag) {
                            last = Some(unacked);
                        }
                    }
                    Some(Acknowledgement::DeadLetter(reason)) => reject(&unacked, &reason).await?,
                    Some(Acknowledgement::Retry) => to_retry.push((unacked, delivery)),
                    None => {
                        let (queue, id) = (self.queue.name(), delivery.id);
                        log::error!("the consumer of {queue} panicked at the event {id}");
                        requeue(&unacked).await?;
                    }
                }
            }
            open = to_retry;
            if open.is_empty() {
                break;
            }
            tokio::select! {
                _ = stopping.changed() => {
                    try_join_all(open.iter().map(|(unacked, _)| requeue(unacked))).await?;
                    break;
                }
                () = backoff.wait() => {}
            }
        }
        if let Some(last) = last {
            acknowledge(&last, true).await;
        }
        Ok(count)
    }
}

/// What is needed to acknowledge a delivery.
struct UnackedDelivery {
    tag: u64,
    routing_key: ShortString,
    acker: Acker,
}

impl UnackedDelivery {
    fn new(raw: Raw) -> Self {
        Self {
            tag: raw.delivery_tag,
            routing_key: raw.routing_key,
            acker: raw.acker,
        }
    }
}

/// Moves the body out of `raw`. Returns `None` without a valid message id.
fn take_delivery(raw: &mut Raw) -> Option<Delivery> {
    let id = raw.properties.message_id().as_ref()?;
    // On the default exchange, the key is the queue's name. None of Holdfast's services may publish there.
    let key = match raw.exchange.as_str() {
        "" => "",
        _ => raw.routing_key.as_str(),
    };
    Some(Delivery {
        id: id.as_str().parse::<Uuid>().ok()?,
        routing_key: key.to_owned(),
        body: std::mem::take(&mut raw.data).into(),
    })
}

/// Acknowledges a delivery, and with `multiple` also all before it.
async fn acknowledge(unacked: &UnackedDelivery, multiple: bool) {
    let options = BasicAckOptions { multiple };
    if let Err(error) = within_timeout(async { unacked.acker.ack(options).await.map(drop) }).await {
        log::warn!("deliveries could not be acknowledged and will be redelivered: {error}");
    }
}

/// Waits until the connection has taken an acknowledgement, or returns why it has not.
async fn within_timeout(sending: impl Future<Output = lapin::Result<()>>) -> Result<(), String> {
    match timeout(ACKNOWLEDGE_TIMEOUT, sending).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("the connection accepts no data".to_owned()),
    }
}

async fn requeue(unacked: &UnackedDelivery) -> Result<(), String> {
    let options = BasicNackOptions {
        requeue: true,
        ..BasicNackOptions::default()
    };
    within_timeout(async { unacked.acker.nack(options).await.map(drop) }).await
}

async fn reject(unacked: &UnackedDelivery, reason: &str) -> Result<(), String> {
    log::error!(
        "dead-lettered a message with the key {:?}: {reason}",
        unacked.routing_key.as_str()
    );
    let options = BasicRejectOptions { requeue: false };
    within_timeout(async { unacked.acker.reject(options).await.map(drop) }).await
}
