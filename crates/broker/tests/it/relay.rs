use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use broker::{
    Acknowledgement, Broker, Completion, ConsumeOptions, Queue, Relay, RelayHandle, RelayOptions,
    RowCompletion,
};
use chrono::{DateTime, NaiveDateTime, TimeDelta};
use db_kit::outbox::{self, NewOutboxRow, OutboxStats};
use db_kit::{DbError, Pool};
use diesel::connection::SimpleConnection;
use prometheus::Registry;
use test_kit::{TestBroker, TestDb, wait_until};
use tokio::time::Instant;
use uuid::Uuid;

use crate::proxy::{Proxy, ProxyMode};
use crate::{TIMEOUT, connected, on_rabbitmq};

/// Returns a clock that runs from a fixed start.
pub(crate) fn clock() -> impl Fn() -> NaiveDateTime + Send + Sync + Clone {
    let (start, since) = (
        DateTime::UNIX_EPOCH.naive_utc() + TimeDelta::days(20_000),
        Instant::now(),
    );
    move || start + since.elapsed()
}

pub(crate) fn create_outbox(db: &TestDb) -> Pool {
    let pool = db.pool(4);
    let tables = include_str!("../../../db-kit/sql/sqlite.sql");
    pool.read_blocking::<_, DbError>(|db| Ok(db.batch_execute(tables)?))
        .unwrap();
    pool
}

pub(crate) async fn insert_events(
    pool: &Pool,
    routing_key: &'static str,
    rows: usize,
    now: NaiveDateTime,
) -> Vec<Uuid> {
    let ids: Vec<Uuid> = (0..rows).map(|_| Uuid::now_v7()).collect();
    insert_events_with_ids(pool, routing_key, &ids, now).await;
    ids
}

async fn insert_events_with_ids(
    pool: &Pool,
    routing_key: &'static str,
    ids: &[Uuid],
    now: NaiveDateTime,
) {
    let written = ids.to_vec();
    pool.write_tx::<_, DbError, _>(move |db| {
        for id in written {
            let row = NewOutboxRow {
                id,
                exchange: "work.events",
                routing_key,
                body: "{}".to_owned(),
                created_at: now,
            };
            outbox::insert(db, &row)?;
        }
        Ok(())
    })
    .await
    .unwrap();
}

pub(crate) async fn stats(pool: &Pool) -> OutboxStats {
    pool.read::<_, DbError, _>(|db| Ok(outbox::stats(db)?))
        .await
        .unwrap()
}

pub(crate) async fn wait_until_empty(pool: &Pool) {
    wait_until("the outbox to be empty", TIMEOUT, async || {
        (stats(pool).await.pending == 0).then_some(())
    })
    .await;
}

pub(crate) fn relay(
    pool: &Pool,
    broker: &Broker,
    now: impl Fn() -> NaiveDateTime + Send + Sync + 'static,
) -> (RelayHandle, Registry) {
    let registry = Registry::new();
    let options = RelayOptions {
        lease: Duration::from_secs(5),
        ..RelayOptions::new("test", now)
    };
    (
        Relay::spawn(pool.clone(), broker.publisher(), options, &registry),
        registry,
    )
}

pub(crate) fn metric_value(registry: &Registry, name: &str) -> u64 {
    let family = registry
        .gather()
        .into_iter()
        .find(|family| family.name() == name)
        .unwrap();
    let metric = &family.get_metric()[0];
    metric
        .get_counter()
        .get_value()
        .max(metric.get_gauge().get_value())
        .round()
        .to_string()
        .parse()
        .unwrap()
}

type Counts = Arc<Mutex<HashMap<Uuid, usize>>>;

fn count(broker: &Broker) -> (Counts, broker::ConsumerHandle) {
    let counts = Counts::default();
    let counting = Arc::clone(&counts);
    let handle = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        move |delivery| {
            *counting.lock().unwrap().entry(delivery.id).or_default() += 1;
            async { Acknowledgement::Ack }
        },
    );
    (counts, handle)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_relays_publish_each_event_once_and_mark_unroutable_ones() {
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    let (counts, consumer) = count(&broker);
    let ids = insert_events(&pool, "notification.delivered.v1", 4_000, now()).await;
    let relays: Vec<_> = (0..4).map(|_| relay(&pool, &broker, now.clone())).collect();
    wait_until_empty(&pool).await;
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("every event to arrive", TIMEOUT, all).await;
    assert!(counts.lock().unwrap().values().all(|&copies| copies == 1));
    let sum = |name| {
        let figures = relays
            .iter()
            .map(|(_, registry)| metric_value(registry, name));
        figures.sum::<u64>()
    };
    assert_eq!(sum("outbox_published_total"), 4_000);
    assert_eq!(sum("outbox_possible_duplicates_total"), 0);

    insert_events(&pool, "weather.v1", 1, now()).await;
    let late = insert_events(&pool, "notification.delivered.v1", 1, now()).await;
    relays[0].0.wake();
    wait_until("a later event", TIMEOUT, async || {
        counts.lock().unwrap().contains_key(&late[0]).then_some(())
    })
    .await;
    wait_until_empty(&pool).await;
    assert_eq!(stats(&pool).await.unroutable, 1);
    for (relay, _) in &relays {
        relay.stop().await;
    }
    consumer.stop().await;
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_wait_for_a_broker_that_is_down_and_arrive_when_it_is_back() {
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let proxy = if on_rabbitmq() {
        Some(Proxy::before(&kit).await)
    } else {
        None
    };
    let broker = match &proxy {
        Some(proxy) => {
            let broker = Broker::connect(&proxy.url(&kit).parse().unwrap(), kit.prefix(), "test");
            broker.publisher().ready().await;
            proxy.cut(false);
            broker
        }
        // The memory broker counts as down while nobody consumes.
        None => Broker::memory(),
    };
    let ids = insert_events(&pool, "notification.delivered.v1", 300, now()).await;
    let (relay, _registry) = relay(&pool, &broker, now.clone());
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(stats(&pool).await.pending, 300);
    if let Some(proxy) = &proxy {
        proxy.cut(true);
    }
    let (counts, consumer) = count(&broker);
    wait_until_empty(&pool).await;
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("every event to arrive", TIMEOUT, all).await;
    tokio::join!(relay.stop(), consumer.stop());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_relay_leased_is_published_later_as_a_possible_duplicate() {
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    let (counts, consumer) = count(&broker);
    let ids = insert_events(&pool, "notification.delivered.v1", 3, now()).await;
    let at = now();
    let dead = pool
        .write_tx::<_, DbError, _>(move |db| {
            Ok(outbox::lease(
                db,
                "dead",
                at,
                Duration::from_millis(600),
                2,
                "",
            )?)
        })
        .await
        .unwrap();
    assert_eq!(dead.len(), 2);
    let (relay, registry) = relay(&pool, &broker, now.clone());
    wait_until_empty(&pool).await;
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("every event to arrive", TIMEOUT, all).await;
    assert_eq!(
        metric_value(&registry, "outbox_possible_duplicates_total"),
        2
    );
    tokio::join!(relay.stop(), consumer.stop());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_not_completed_in_time_wait_for_the_next_lease() {
    const EVENT: &str = "notification.delivered.v1";
    let (db, now) = (TestDb::empty("relay"), clock());
    let (pool, broker) = (create_outbox(&db), Broker::memory());
    let (counts, consumer) = count(&broker);
    let ids = insert_events(&pool, EVENT, 900, now()).await;
    let (started, reclaimed) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (starts, reclaims) = (Arc::clone(&started), Arc::clone(&reclaimed));
    let completion = RowCompletion {
        routing_key: EVENT,
        complete: Arc::new(move |row| {
            let number = starts.fetch_add(1, Ordering::SeqCst);
            reclaims.fetch_add(usize::from(row.reclaimed), Ordering::SeqCst);
            Box::pin(async move {
                match number {
                    // It never ends.
                    200 => std::future::pending().await,
                    _ => Completion::Done(row),
                }
            })
        }),
    };
    let options = RelayOptions {
        lease: Duration::from_secs(9),
        completion: Some(completion),
        ..RelayOptions::new("test", now)
    };
    let relay = Relay::spawn(pool.clone(), broker.publisher(), options, &Registry::new());
    wait_until_empty(&pool).await;
    // The row that did not end was tried once more. Those after it in its batch were not begun in that lease.
    assert_eq!(started.load(Ordering::SeqCst), ids.len() + 1);
    assert_eq!(reclaimed.load(Ordering::SeqCst), 0, "a lease has expired");
    let counts = counts.lock().unwrap().clone();
    assert_eq!(counts, ids.into_iter().map(|id| (id, 1)).collect());
    tokio::join!(relay.stop(), consumer.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_a_relay_completes_what_is_in_flight() {
    let (db, now) = (TestDb::empty("relay"), clock());
    let pool = create_outbox(&db);
    let broker = Broker::memory();
    let _consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        |_| async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Acknowledgement::Ack
        },
    );
    insert_events(&pool, "notification.delivered.v1", 5, now()).await;
    let (relay, _registry) = relay(&pool, &broker, now.clone());
    tokio::time::sleep(Duration::from_millis(100)).await;
    relay.stop().await;
    assert_eq!(stats(&pool).await.pending, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_commits_late_inside_a_lease_is_published_when_the_lease_ends() {
    let (db, now) = (TestDb::empty("relay"), clock());
    let pool = create_outbox(&db);
    let broker = Broker::memory();
    let counts = Counts::default();
    let counting = Arc::clone(&counts);
    let consumer = broker.consume(
        Queue::WorksessionFeedback,
        ConsumeOptions::default(),
        move |delivery| {
            *counting.lock().unwrap().entry(delivery.id).or_default() += 1;
            async {
                tokio::time::sleep(Duration::from_millis(500)).await;
                Acknowledgement::Ack
            }
        },
    );
    let [first, late, last] = [(); 3].map(|()| Uuid::now_v7());
    insert_events_with_ids(&pool, "notification.delivered.v1", &[first, last], now()).await;
    let options = RelayOptions {
        poll: 2 * TIMEOUT,
        ..RelayOptions::new("test", now.clone())
    };
    let relay = Relay::spawn(pool.clone(), broker.publisher(), options, &Registry::new());
    let in_progress = async || (counts.lock().unwrap().len() == 2).then_some(());
    wait_until("the first ones to be under way", TIMEOUT, in_progress).await;
    // By another process, so that nothing wakes the relay.
    insert_events_with_ids(&pool, "notification.delivered.v1", &[late], now()).await;
    wait_until_empty(&pool).await;
    assert!(counts.lock().unwrap().values().all(|&copies| copies == 1));
    tokio::join!(relay.stop(), consumer.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_one_queue_refuses_do_not_delay_those_of_others() {
    let (db, now) = (TestDb::empty("relay"), clock());
    let pool = create_outbox(&db);
    // The memory broker refuses the messages of a queue that nobody consumes.
    let broker = Broker::memory();
    let (counts, consumer) = count(&broker);
    insert_events(&pool, "session.started.v1", 1_300, now()).await;
    let ids = insert_events(&pool, "notification.delivered.v1", 700, now()).await;
    let (relay, _registry) = relay(&pool, &broker, now.clone());
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("what is not refused", TIMEOUT, all).await;
    // A row is deleted a moment after its event has arrived.
    let others = async || (stats(&pool).await.pending == 1_300).then_some(());
    wait_until("the rows of it to go", TIMEOUT, others).await;
    // The refused events are retried.
    let chats = broker.consume(Queue::NotifyChat, ConsumeOptions::default(), |_| async {
        Acknowledgement::Ack
    });
    wait_until_empty(&pool).await;
    tokio::join!(relay.stop(), consumer.stop(), chats.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_broker_gets_no_event_twice_and_all_once_it_is_unblocked() {
    if !on_rabbitmq() {
        return;
    }
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let proxy = Proxy::before(&kit).await;
    let through = Broker::connect(&proxy.url(&kit).parse().unwrap(), kit.prefix(), "test");
    through.publisher().ready().await;
    let direct = connected(&kit).await;
    let (counts, consumer) = count(&direct);
    proxy.set_mode(ProxyMode::Blocked);
    // Until the block is known: what is in flight at that moment may arrive twice.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let ids = insert_events(&pool, "notification.delivered.v1", 1_500, now()).await;
    let (relay, registry) = relay(&pool, &through, now.clone());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(stats(&pool).await.pending, 1_500);
    proxy.set_mode(ProxyMode::Passing);
    wait_until_empty(&pool).await;
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("every event to arrive", TIMEOUT, all).await;
    assert!(counts.lock().unwrap().values().all(|&copies| copies == 1));
    assert_eq!(
        metric_value(&registry, "outbox_possible_duplicates_total"),
        0
    );
    tokio::join!(relay.stop(), consumer.stop());
    tokio::join!(through.close(), direct.close());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_broker_is_reconnected_and_possible_duplicates_are_counted() {
    if !on_rabbitmq() {
        return;
    }
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let proxy = Proxy::before(&kit).await;
    let through = Broker::connect(&proxy.url(&kit).parse().unwrap(), kit.prefix(), "test");
    through.publisher().ready().await;
    let direct = connected(&kit).await;
    let (counts, consumer) = count(&direct);
    let (relay, registry) = relay(&pool, &through, now.clone());
    insert_events(&pool, "notification.delivered.v1", 1, now()).await;
    wait_until_empty(&pool).await;
    proxy.set_mode(ProxyMode::Silent);
    let ids = insert_events(&pool, "notification.delivered.v1", 20, now()).await;
    let noticed =
        async || (metric_value(&registry, "outbox_unconfirmed_total") >= 20).then_some(());
    wait_until("the silence to be noticed", TIMEOUT, noticed).await;
    proxy.set_mode(ProxyMode::Passing);
    wait_until("every event to arrive", 3 * TIMEOUT, async || {
        let pending = stats(&pool).await.pending;
        (pending == 0 && counts.lock().unwrap().len() == ids.len() + 1).then_some(())
    })
    .await;
    let copies: usize = counts
        .lock()
        .unwrap()
        .values()
        .map(|copies| copies - 1)
        .sum();
    let possible = metric_value(&registry, "outbox_possible_duplicates_total");
    assert!(
        u64::try_from(copies).unwrap() <= possible,
        "{copies} of {possible}"
    );
    tokio::join!(relay.stop(), consumer.stop());
    tokio::join!(through.close(), direct.close());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_exchange_is_declared_again() {
    if !on_rabbitmq() {
        return;
    }
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    let (counts, consumer) = count(&broker);
    let connection = lapin::Connection::connect(kit.url(), lapin::ConnectionProperties::default())
        .await
        .unwrap();
    let channel = connection.create_channel().await.unwrap();
    let exchange = format!("{}work.events", kit.prefix());
    channel
        .exchange_delete(exchange.as_str().into(), Default::default())
        .await
        .unwrap();
    connection.close(200, "done".into()).await.unwrap();
    let ids = insert_events(&pool, "notification.delivered.v1", 20, now()).await;
    // A publish to a missing exchange closes its channel, and nothing else.
    let (relay, _registry) = relay(&pool, &broker, now.clone());
    wait_until_empty(&pool).await;
    let all = async || (counts.lock().unwrap().len() == ids.len()).then_some(());
    wait_until("every event to arrive", TIMEOUT, all).await;
    tokio::join!(relay.stop(), consumer.stop());
    broker.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_without_a_webhook_subscriber_is_routed_only_to_the_chat_queue() {
    let (db, kit, now) = (TestDb::empty("relay"), TestBroker::fresh(), clock());
    let pool = create_outbox(&db);
    let broker = connected(&kit).await;
    let received: Arc<Mutex<HashMap<Queue, Vec<Uuid>>>> = Arc::default();
    let consumers = [Queue::NotifyChat, Queue::WorksessionWebhooks].map(|queue| {
        let received = Arc::clone(&received);
        broker.consume(queue, ConsumeOptions::default(), move |delivery| {
            assert_eq!(delivery.routing_key, "session.started.v1");
            let mut received = received.lock().unwrap();
            received.entry(queue).or_default().push(delivery.id);
            async { Acknowledgement::Ack }
        })
    });
    let ids = insert_events(&pool, "session.started.v1", 21, now()).await;
    // The last event is among them: whatever came before it has arrived by then, if it arrives at all.
    let wanted: Vec<Uuid> = ids.iter().copied().step_by(4).collect();
    let subscribed: HashSet<String> = wanted.iter().map(Uuid::to_string).collect();
    let (registry, matching) = (Registry::new(), subscribed.clone());
    let options = RelayOptions {
        bcc_filter: Some(Arc::new(move |_, rows| {
            let ids = rows.iter().map(|row| row.id.clone());
            Ok(ids.filter(|id| matching.contains(id)).collect())
        })),
        ..RelayOptions::new("test", now)
    };
    let relay = Relay::spawn(pool.clone(), broker.publisher(), options, &registry);
    wait_until_empty(&pool).await;
    let of = |queue| {
        let mut ids = received
            .lock()
            .unwrap()
            .get(&queue)
            .cloned()
            .unwrap_or_default();
        ids.sort_unstable();
        ids
    };
    wait_until("all of them", TIMEOUT, async || {
        let last = of(Queue::WorksessionWebhooks).last() == wanted.last();
        (last && of(Queue::NotifyChat).len() == ids.len()).then_some(())
    })
    .await;
    assert_eq!(of(Queue::WorksessionWebhooks), wanted);
    relay.stop().await;
    for consumer in consumers {
        consumer.stop().await;
    }
    broker.close().await;
}
