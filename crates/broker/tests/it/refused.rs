//! Events that no queue accepts: how they are counted, how long they wait, and how often they are retried.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, Queue, Relay, RelayOptions};
use chrono::{DateTime, TimeDelta};
use lapin::options::{QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use prometheus::Registry;
use test_kit::{TestBroker, TestDb, wait_until};
use tokio::time::Instant;

use crate::relay::{
    clock, create_outbox, insert_events, metric_value, relay, stats, wait_until_empty,
};
use crate::{TIMEOUT, connected, next, on_rabbitmq, recording_handler};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_returned_event_is_counted_once_and_not_retried() {
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    let (handler, mut seen) = recording_handler(|_| Acknowledgement::Ack);
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    insert_events(&pool, "weather.v1", 3, now()).await;
    let (relay, registry) = relay(&pool, &broker, now.clone());
    let unroutable = async || (stats(&pool).await.unroutable == 3).then_some(());
    wait_until("all of them to be unroutable", TIMEOUT, unroutable).await;
    // A retry would publish them together with this one.
    let late = insert_events(&pool, "notification.delivered.v1", 1, now()).await;
    relay.wake();
    assert_eq!(next(&mut seen).await.id, late[0]);
    wait_until_empty(&pool).await;
    tokio::join!(relay.stop(), consumer.stop());
    assert_eq!(metric_value(&registry, "outbox_returned_total"), 3);
    assert_eq!(metric_value(&registry, "outbox_published_total"), 1);
    assert_eq!(metric_value(&registry, "outbox_nacked_total"), 0);
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_a_memory_consumer_cannot_read_is_counted_as_returned() {
    let (db, now) = (TestDb::empty("relay"), clock());
    let pool = create_outbox(&db);
    let broker = Broker::memory();
    let (handler, _seen) =
        recording_handler(|_| Acknowledgement::DeadLetter("unreadable".to_owned()));
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    insert_events(&pool, "notification.delivered.v1", 2, now()).await;
    let (relay, registry) = relay(&pool, &broker, now);
    let unroutable = async || (stats(&pool).await.unroutable == 2).then_some(());
    wait_until("both to be unroutable", TIMEOUT, unroutable).await;
    tokio::join!(relay.stop(), consumer.stop());
    assert_eq!(metric_value(&registry, "outbox_returned_total"), 2);
    assert_eq!(metric_value(&registry, "outbox_nacked_total"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_a_full_queue_refuses_waits_and_each_publish_is_counted() {
    if !on_rabbitmq() {
        return;
    }
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    bind_full_queue(&kit).await;
    insert_events(&pool, "session.started.v1", 2, now()).await;
    let since = Instant::now();
    let (relay, registry) = relay(&pool, &broker, now);
    let nacked = || metric_value(&registry, "outbox_nacked_total");
    let refused = async || (nacked() >= 12).then_some(());
    wait_until("the sixth try of both", TIMEOUT, refused).await;
    // The backoff is 200 ms after the second attempt and 800 ms after the fourth.
    assert!(since.elapsed() >= Duration::from_secs(1));
    relay.stop().await;
    assert_eq!(stats(&pool).await.pending, 2);
    assert_eq!(metric_value(&registry, "outbox_published_total"), 0);
    assert_eq!(metric_value(&registry, "outbox_returned_total"), 0);
    // Each publish has left a copy in the queue that has room.
    let connection = kit.connect().await;
    let copies = async || kit.waiting(&connection, "notify.chat").await;
    let as_many = async || (u64::from(copies().await) == nacked()).then_some(());
    wait_until("as many copies as publishes", TIMEOUT, as_many).await;
    connection.close(200, "done".into()).await.unwrap();
    broker.close().await;
}

/// Binds a queue that gets session events and refuses each of them.
async fn bind_full_queue(kit: &TestBroker) {
    let connection = kit.connect().await;
    let channel = connection.create_channel().await.unwrap();
    let name: ShortString = format!("{}example.sessions", kit.prefix()).into();
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongLongInt(0));
    let overflow = AMQPValue::LongString("reject-publish".into());
    arguments.insert("x-overflow".into(), overflow);
    let durable = QueueDeclareOptions::durable();
    let declared = channel.queue_declare(name.clone(), durable, arguments);
    declared.await.unwrap();
    let bound = channel.queue_bind(
        name,
        format!("{}work.events", kit.prefix()).into(),
        "session.#".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_oldest_age_is_that_of_the_row_that_has_waited_longest() {
    let db = TestDb::empty("relay");
    let pool = create_outbox(&db);
    let written = DateTime::UNIX_EPOCH.naive_utc() + TimeDelta::days(20_000);
    let time = Arc::new(Mutex::new(written + TimeDelta::seconds(90)));
    let clock_time = Arc::clone(&time);
    let now = move || *clock_time.lock().unwrap();
    // The memory broker refuses the messages of a queue that nobody consumes.
    let broker = Broker::memory();
    insert_events(&pool, "notification.delivered.v1", 1, written).await;
    let later = written + TimeDelta::seconds(60);
    insert_events(&pool, "notification.delivered.v1", 1, later).await;
    let (relay, registry) = relay(&pool, &broker, now);
    let age = async |seconds: u64| {
        let so_old = async || {
            (metric_value(&registry, "outbox_oldest_age_seconds") == seconds).then_some(())
        };
        wait_until(&format!("an age of {seconds} s"), TIMEOUT, so_old).await;
    };
    age(90).await;
    *time.lock().unwrap() = written + TimeDelta::hours(1);
    age(3_600).await;
    let (handler, _seen) = recording_handler(|_| Acknowledgement::Ack);
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    age(0).await;
    tokio::join!(relay.stop(), consumer.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_event_is_retried_with_doubling_backoff_however_often_the_relay_wakes() {
    let (db, now) = (TestDb::empty("relay"), clock());
    let pool = create_outbox(&db);
    let broker = Broker::memory();
    let times: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let recording = Arc::clone(&times);
    let (handler, mut attempts) = recording_handler(move |_| {
        recording.lock().unwrap().push(Instant::now());
        Acknowledgement::Retry
    });
    let options = ConsumeOptions::default();
    let consumer = broker.consume(Queue::WorksessionFeedback, options, handler);
    insert_events(&pool, "notification.delivered.v1", 1, now()).await;
    let registry = Registry::new();
    let options = RelayOptions {
        // Nothing but the backoff delays the next attempt.
        poll: Duration::from_millis(1),
        ..RelayOptions::new("test", now)
    };
    let relay = Relay::spawn(pool.clone(), broker.publisher(), options, &registry);
    for _ in 0..6 {
        next(&mut attempts).await;
        relay.wake();
    }
    tokio::join!(relay.stop(), consumer.stop());
    let times = times.lock().unwrap().clone();
    // One attempt may be leased before the previous refusal is known, but none after that.
    let delays: Vec<u128> = times
        .windows(3)
        .map(|three| (three[2] - three[0]).as_millis())
        .collect();
    for (delay, least) in delays.iter().zip([100, 200, 400, 800]) {
        assert!(*delay >= least, "{delays:?} ms, one of them under {least}");
    }
    let published = u64::try_from(times.len()).unwrap();
    assert_eq!(metric_value(&registry, "outbox_nacked_total"), published);
}
