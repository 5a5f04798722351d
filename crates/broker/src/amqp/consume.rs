use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery as Raw;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions,
    BasicRejectOptions,
};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, Consumer};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::{Amqp, name};
use crate::handler::Handler;
use crate::message::Flow;
use crate::pause::Pause;
use crate::{Delivery, Queue, Verdict};

/// How long a stopping consumer waits for what it has begun.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the broker may take to set a consumer up.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the client may take to hand a verdict to the connection. It answers at once, or, when the connection
/// breaks at that moment, perhaps never; the consumer would wait with it and look alive.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a batch waits to fill while one follows the other: each costs its handler a transaction.
const GATHER: Duration = Duration::from_millis(25);

/// The part of a full batch from which on the next one waits to fill, if it follows at once.
const DENSE: usize = 16;

/// Consumes until told to stop, over as many connections and channels as it takes.
pub(super) async fn run(
    amqp: Arc<Amqp>,
    queue: Queue,
    flow: Flow,
    handler: Handler,
    mut stopping: watch::Receiver<()>,
) {
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
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
            // The queue is missing, say: a new connection declares it.
            Ok(Err(reason)) => {
                amqp.consuming.give_up(&connection);
                Err(reason)
            }
            Err(_) => {
                amqp.consuming.give_up(&connection);
                Err("no answer in time".to_owned())
            }
        };
        match lost {
            Ok(()) => return,
            Err(reason) => log::warn!("the consumer of {} starts again: {reason}", queue.name()),
        }
        drop(connection);
        amqp.consuming.suspect();
        if since.elapsed() > Duration::from_secs(10) {
            pause.reset();
        }
        tokio::select! {
            _ = stopping.changed() => return,
            () = pause.wait() => {}
        }
    }
}

/// Consumes on one channel: `Ok` when told to stop, `Err` when the channel is lost.
async fn consume(
    (channel, mut consumer): (Channel, Consumer),
    queue: Queue,
    flow: Flow,
    handler: &Handler,
    stopping: &mut watch::Receiver<()>,
) -> Result<(), String> {
    let mut work = JoinSet::new();
    // Until when another batch follows a large one at once.
    let mut dense_until = None;
    loop {
        tokio::select! {
            biased;
            _ = stopping.changed() => break,
            Some(worked) = work.join_next(), if !work.is_empty() => {
                let large = worked.is_ok_and(|count: usize| count > 1 && count >= flow.batch / DENSE);
                dense_until = large.then(|| Instant::now() + GATHER);
            }
            delivery = consumer.next(), if work.len() < flow.concurrency => match delivery {
                Some(Ok(raw)) => {
                    let mut raws = vec![raw];
                    there_are(&mut raws, &mut consumer, flow.batch)?;
                    let dense = dense_until.take().is_some_and(|until| Instant::now() < until);
                    if dense && raws.len() < flow.batch {
                        let filled = fill(&mut raws, &mut consumer, flow.batch);
                        tokio::select! {
                            _ = stopping.changed() => break,
                            filled = timeout(GATHER, filled) => filled.unwrap_or(Ok(()))?,
                        }
                    }
                    let batch = Batch {
                        queue,
                        raws,
                        alone: flow.concurrency == 1,
                    };
                    work.spawn(batch.handle(handler.clone(), stopping.clone()));
                }
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("cancelled by the broker".to_owned()),
            },
        }
    }
    // What the broker has sent ahead goes back to the queue when the channel closes.
    let ending = async {
        let _ = channel
            .basic_cancel(consumer.tag(), BasicCancelOptions::default())
            .await;
        while work.join_next().await.is_some() {}
        let _ = channel.close(200, "stopping".into()).await;
    };
    if timeout(STOP_TIMEOUT, ending).await.is_err() {
        log::warn!(
            "the consumer of {} left deliveries unsettled; they come again",
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

/// Adds the deliveries that have come already.
fn there_are(raws: &mut Vec<Raw>, consumer: &mut Consumer, most: usize) -> Result<(), String> {
    fill(raws, consumer, most).now_or_never().unwrap_or(Ok(()))
}

/// Adds deliveries until there are so many.
async fn fill(raws: &mut Vec<Raw>, consumer: &mut Consumer, most: usize) -> Result<(), String> {
    while raws.len() < most {
        match consumer.next().await {
            Some(Ok(raw)) => raws.push(raw),
            Some(Err(error)) => return Err(error.to_string()),
            // The consumer's end is told again.
            None => break,
        }
    }
    Ok(())
}

/// Deliveries that are judged together.
struct Batch {
    queue: Queue,
    raws: Vec<Raw>,
    /// No other is worked on: everything before it is settled.
    alone: bool,
}

impl Batch {
    /// Runs the handler until there is a verdict on each delivery, tells the broker, and says how many there were.
    ///
    /// A retry keeps its deliveries in hand: handing them back would count against the delivery limit, and
    /// a database that is away for a minute would park good messages.
    async fn handle(self, handler: Handler, mut stopping: watch::Receiver<()>) -> usize {
        let count = self.raws.len();
        let mut open = Vec::with_capacity(self.raws.len());
        for raw in self.raws {
            match read(&raw) {
                Some(delivery) => open.push((raw, delivery)),
                None => park(&raw, "it has no message id").await,
            }
        }
        let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
        while !open.is_empty() {
            let batch = open.iter().map(|(_, delivery)| delivery.clone()).collect();
            let verdicts = handler.judge(batch).await;
            let (mut done, mut later) = (Vec::new(), Vec::new());
            for ((raw, delivery), verdict) in open.into_iter().zip(verdicts) {
                match verdict {
                    Some(Verdict::Ack) => done.push(raw),
                    Some(Verdict::Park(reason)) => park(&raw, &reason).await,
                    Some(Verdict::Retry) => later.push((raw, delivery)),
                    None => {
                        let (queue, id) = (self.queue.name(), delivery.id);
                        log::error!("the consumer of {queue} panicked at the event {id}");
                        hand_back(&raw).await;
                    }
                }
            }
            acknowledge(&done, self.alone && later.is_empty()).await;
            open = later;
            if open.is_empty() {
                return count;
            }
            tokio::select! {
                _ = stopping.changed() => {
                    join_all(open.iter().map(|(raw, _)| hand_back(raw))).await;
                    return count;
                }
                () = pause.wait() => {}
            }
        }
        count
    }
}

fn read(raw: &Raw) -> Option<Delivery> {
    let id = raw.properties.message_id().as_ref()?;
    Some(Delivery {
        id: id.as_str().parse::<Uuid>().ok()?,
        routing_key: raw.routing_key.to_string(),
        body: raw.data.as_slice().into(),
    })
}

/// Acknowledges deliveries; as one, when nothing else that came before the last of them is open.
async fn acknowledge(done: &[Raw], as_one: bool) {
    let settling = async {
        match done.last() {
            Some(last) if as_one => last.ack(BasicAckOptions { multiple: true }).await.map(drop),
            _ => {
                let each = done.iter().map(|raw| raw.ack(BasicAckOptions::default()));
                join_all(each)
                    .await
                    .into_iter()
                    .try_for_each(|acked| acked.map(drop))
            }
        }
    };
    if let Err(error) = told(settling).await {
        log::warn!("deliveries could not be acknowledged and come again: {error}");
    }
}

/// A verdict that the connection takes, or the reason why it does not.
async fn told(settling: impl Future<Output = lapin::Result<()>>) -> Result<(), String> {
    match timeout(SETTLE_TIMEOUT, settling).await {
        Ok(settled) => settled.map_err(|error| error.to_string()),
        Err(_) => Err("the connection takes nothing".to_owned()),
    }
}

async fn hand_back(raw: &Raw) {
    let options = BasicNackOptions {
        requeue: true,
        ..BasicNackOptions::default()
    };
    if let Err(error) = told(async { raw.nack(options).await.map(drop) }).await {
        log::debug!("a delivery could not be handed back and comes again: {error}");
    }
}

async fn park(raw: &Raw, reason: &str) {
    log::error!(
        "parked a message with the key {:?}: {reason}",
        raw.routing_key.as_str()
    );
    let options = BasicRejectOptions { requeue: false };
    if let Err(error) = told(async { raw.reject(options).await.map(drop) }).await {
        log::debug!("a message could not be parked and comes again: {error}");
    }
}
