use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

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
use crate::broker::Handler;
use crate::pause::Pause;
use crate::{ConsumeOptions, Delivery, Queue, Verdict};

/// How long a stopping consumer waits for what it has begun.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the broker may take to set a consumer up.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(10);

/// Consumes until told to stop, over as many connections and channels as it takes.
pub(super) async fn run(
    amqp: Arc<Amqp>,
    queue: Queue,
    options: ConsumeOptions,
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
        match consume(
            &connection,
            &amqp.prefix,
            queue,
            options,
            &handler,
            &mut stopping,
        )
        .await
        {
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
    connection: &Connection,
    prefix: &str,
    queue: Queue,
    options: ConsumeOptions,
    handler: &Handler,
    stopping: &mut watch::Receiver<()>,
) -> Result<(), String> {
    let opening = timeout(SET_UP_TIMEOUT, open(connection, prefix, queue, options));
    let (channel, mut consumer) = match opening.await {
        Ok(opened) => opened?,
        Err(_) => return Err("no answer in time".to_owned()),
    };
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = stopping.changed() => break,
            Some(_) = work.join_next(), if !work.is_empty() => {}
            delivery = consumer.next(), if work.len() < options.concurrency.max(1) => match delivery {
                Some(Ok(raw)) => { work.spawn(handle(raw, Arc::clone(handler), stopping.clone())); }
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
    options: ConsumeOptions,
) -> Result<(Channel, Consumer), String> {
    let name = name(prefix, queue.name())?;
    let opening = async {
        let channel = connection.create_channel().await?;
        channel
            .basic_qos(options.prefetch, BasicQosOptions::default())
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

/// Runs the handler on one delivery until there is a verdict, and tells the broker.
///
/// A retry keeps the delivery in hand: handing it back would count against the delivery limit, and a
/// database that is away for a minute would park good messages.
async fn handle(raw: Raw, handler: Handler, mut stopping: watch::Receiver<()>) {
    let Some(id) = raw
        .properties
        .message_id()
        .as_ref()
        .and_then(|id| id.as_str().parse::<Uuid>().ok())
    else {
        return park(&raw, "it has no message id").await;
    };
    let delivery = Delivery {
        id,
        routing_key: raw.routing_key.to_string(),
        body: raw.data.as_slice().into(),
    };
    let mut pause = Pause::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        let settled = match AssertUnwindSafe(handler(delivery.clone()))
            .catch_unwind()
            .await
        {
            Ok(Verdict::Ack) => raw.ack(BasicAckOptions::default()).await,
            Ok(Verdict::Park(reason)) => return park(&raw, &reason).await,
            Ok(Verdict::Retry) => {
                tokio::select! {
                    _ = stopping.changed() => hand_back(&raw).await,
                    () = pause.wait() => continue,
                }
            }
            Err(_) => {
                log::error!(
                    "the consumer of {} panicked at the event {id}",
                    delivery.routing_key
                );
                hand_back(&raw).await
            }
        };
        if let Err(error) = settled {
            log::debug!("the event {id} could not be settled and comes again: {error}");
        }
        return;
    }
}

async fn hand_back(raw: &Raw) -> lapin::Result<bool> {
    raw.nack(BasicNackOptions {
        requeue: true,
        ..BasicNackOptions::default()
    })
    .await
}

async fn park(raw: &Raw, reason: &str) {
    log::error!(
        "parked a message with the key {:?}: {reason}",
        raw.routing_key.as_str()
    );
    if let Err(error) = raw.reject(BasicRejectOptions { requeue: false }).await {
        log::debug!("a message could not be parked and comes again: {error}");
    }
}
