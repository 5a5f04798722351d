//! Measures the broker itself: a bare publisher and a bare consumer, without a database. `cargo xtask bench events`
//! compares the relay with it. The arguments are the broker's URL, the number of messages, the number to acknowledge
//! at once, and two percentages between which the consumer is timed. It prints seconds. With the nanoseconds between
//! two messages, it publishes at that pace, and prints the p99 latency in milliseconds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking and says what it measured"
)]

use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Connection, ConnectionProperties, ExchangeKind, PublisherConfirm};

/// As many messages in flight as the relay has: two batches.
const BATCH: usize = 500;
const BATCHES: usize = 2;
/// The prefetch count of a batch consumer.
const PREFETCH: u16 = 1_000;
/// About the size of the event of a started session.
const BODY: [u8; 1_000] = [b'x'; 1_000];
/// The only queue that such an event usually reaches, because most sessions have no webhook.
const QUEUE: &str = "bare.chat";
const EXCHANGE: &str = "bare.events";

#[tokio::main(flavor = "multi_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the broker's URL");
    let messages: usize = arguments.next().unwrap().parse().expect("a number");
    let at_once: usize = arguments.next().unwrap().parse().expect("a number");
    let mut mark = || {
        let per_cent: usize = arguments.next().unwrap().parse().expect("per cent");
        messages * per_cent / 100
    };
    let timed = (mark(), mark());
    let connect = async || {
        let connection = Connection::connect(&url, ConnectionProperties::default());
        connection.await.unwrap()
    };
    let (publishing, consuming) = (connect().await, connect().await);
    declare(&publishing).await;
    let channel = consuming.create_channel().await.unwrap();
    let begun = Instant::now();
    let consumer = tokio::spawn(consume(channel, messages, at_once, timed, begun));
    let Some(gap) = arguments.next() else {
        let publishers = (0..BATCHES).map(|_| async {
            let channel = publishing.create_channel().await.unwrap();
            publish(channel, messages / BATCHES).await;
        });
        join_all(publishers).await;
        return println!("{}", consumer.await.unwrap().0.as_secs_f64());
    };
    let gap = Duration::from_nanos(gap.parse().expect("nanoseconds"));
    let channel = publishing.create_channel().await.unwrap();
    publish_paced(channel, messages, gap, begun).await;
    let (_, mut latencies) = consumer.await.unwrap();
    latencies.sort();
    let p99 = latencies.get(latencies.len() * 99 / 100).unwrap();
    println!("{}", p99.as_secs_f64() * 1_000.0);
}

async fn declare(connection: &Connection) {
    let channel = connection.create_channel().await.unwrap();
    let durable = ExchangeDeclareOptions {
        durable: true,
        ..ExchangeDeclareOptions::default()
    };
    let none = FieldTable::default;
    channel
        .exchange_declare(EXCHANGE.into(), ExchangeKind::Topic, durable, none())
        .await
        .unwrap();
    let mut arguments = FieldTable::default();
    let text = |text: &str| AMQPValue::LongString(text.into());
    arguments.insert("x-queue-type".into(), text("quorum"));
    arguments.insert("x-overflow".into(), text("reject-publish"));
    arguments.insert("x-delivery-limit".into(), AMQPValue::LongLongInt(10));
    arguments.insert("x-dead-letter-exchange".into(), text("work.dlx"));
    arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
    channel
        .queue_declare(QUEUE.into(), QueueDeclareOptions::durable(), arguments)
        .await
        .unwrap();
    channel
        .queue_bind(
            QUEUE.into(),
            EXCHANGE.into(),
            "session.#".into(),
            QueueBindOptions::default(),
            none(),
        )
        .await
        .unwrap();
}

async fn publish(channel: lapin::Channel, messages: usize) {
    let select = ConfirmSelectOptions::default();
    channel.confirm_select(select).await.unwrap();
    let mut left = messages;
    while left > 0 {
        let batch = left.min(BATCH);
        join_all((0..batch).map(|_| async {
            let confirm = publish_one(&channel, &BODY).await;
            assert!(confirm.await.unwrap().is_ack());
        }))
        .await;
        left -= batch;
    }
}

/// Publishes at a fixed pace. Each body begins with the nanoseconds from `begun` to its publish.
async fn publish_paced(channel: lapin::Channel, messages: usize, gap: Duration, begun: Instant) {
    let select = ConfirmSelectOptions::default();
    channel.confirm_select(select).await.unwrap();
    let (mut due, mut confirms) = (Instant::now(), Vec::new());
    for _ in 0..messages {
        tokio::time::sleep_until(due.into()).await;
        due += gap;
        let at = u64::try_from(begun.elapsed().as_nanos()).unwrap();
        let body = [at.to_be_bytes().as_slice(), &BODY].concat();
        confirms.push(publish_one(&channel, &body).await);
    }
    for confirm in confirms {
        assert!(confirm.await.unwrap().is_ack());
    }
}

async fn publish_one(channel: &lapin::Channel, body: &[u8]) -> PublisherConfirm {
    let properties = BasicProperties::default()
        .with_content_type("application/cloudevents+json".into())
        .with_delivery_mode(2);
    let options = BasicPublishOptions {
        mandatory: true,
        ..BasicPublishOptions::default()
    };
    let key = "session.started.v1".into();
    let confirm = channel.basic_publish(EXCHANGE.into(), key, options, body, properties);
    confirm.await.unwrap()
}

/// Consumes all messages. Returns the time between the two marks, and for each message the time from its publish to
/// its receipt.
async fn consume(
    channel: lapin::Channel,
    messages: usize,
    at_once: usize,
    (from, to): (usize, usize),
    begun: Instant,
) -> (Duration, Vec<Duration>) {
    channel
        .basic_qos(PREFETCH, BasicQosOptions::default())
        .await
        .unwrap();
    let options = BasicConsumeOptions::default();
    let mut consumer = channel
        .basic_consume(QUEUE.into(), "".into(), options, FieldTable::default())
        .await
        .unwrap();
    let (mut first, mut last) = (Instant::now(), Instant::now());
    let (mut seen, mut latencies) = (0, Vec::new());
    while seen < messages {
        let ready = consumer.next().await.unwrap().unwrap();
        if let Some(at) = ready.data.first_chunk() {
            let published = Duration::from_nanos(u64::from_be_bytes(*at));
            latencies.push(begun.elapsed().saturating_sub(published));
        }
        let (mut newest, before) = (ready, seen);
        seen += 1;
        for _ in 1..at_once {
            let more = futures_util::FutureExt::now_or_never(consumer.next());
            let Some(Some(Ok(next))) = more else { break };
            newest = next;
            seen += 1;
        }
        newest
            .ack(BasicAckOptions { multiple: true })
            .await
            .unwrap();
        let passed = |mark| before < mark && seen >= mark;
        if passed(from) {
            first = Instant::now();
        }
        if passed(to) {
            last = Instant::now();
        }
    }
    (last - first, latencies)
}
