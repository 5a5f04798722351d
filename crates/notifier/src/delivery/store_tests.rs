#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use broker::{Broker, Relay, RelayOptions};
use chrono::{DateTime, TimeDelta};
use db_kit::Db;
use diesel::prelude::*;
use prometheus::TextEncoder;
use service_kit::ManualClock;
use service_kit::metrics::Metrics;
use test_kit::TestDb;

use super::*;
use crate::delivery::model::{NewDelivery, Settings};
use crate::delivery::retry_schedule::call_wait;
use crate::delivery::state_machine::{AttemptOutcome, Policy, Reasons};
use crate::schema;

/// Webhook calls that the test makes itself.
#[derive(Clone)]
struct TestMedium;

const POLICY: Policy = Policy {
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    retry_wait: call_wait,
    disable_after: None,
    locked_for: None,
    keeps_payload: false,
    digest: 1,
    reasons: Reasons {
        unknown: "",
        retry_after: "",
        disabled: "",
        removed: None,
    },
};

impl Medium for TestMedium {
    const NAME: &'static str = "webhook";
    const DELIVERIES: &'static str = "tests";

    type Connection = ();

    fn policy(&self) -> &Policy {
        &POLICY
    }

    async fn send(&self, (): &mut (), _: &Attempt, _: &ShutdownSignal) -> AttemptReport {
        AttemptOutcome::Delivered.into()
    }
}

fn settings(revision: i64, sealed: Option<&str>) -> Settings {
    Settings {
        id: "1".to_owned(),
        revision,
        sealed: sealed.map(str::to_owned),
        paused: false,
    }
}

/// A destination, and the processes that may lease it.
struct Stage {
    db: TestDb,
    clock: Clock,
    manual: ManualClock,
    metrics: Metrics,
    delivery_metrics: DeliveryMetrics,
}

impl Stage {
    async fn set() -> Self {
        let (clock, manual) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
        let metrics = Metrics::new().unwrap();
        Self {
            db: TestDb::fresh("store", crate::MIGRATIONS).await,
            clock,
            manual,
            delivery_metrics: DeliveryMetrics::webhooks(&metrics).unwrap(),
            metrics,
        }
    }

    fn process(&self) -> DeliveryStore<TestMedium> {
        let now = self.clock.clone();
        let relay = Relay::spawn(
            self.db.pool(1),
            Broker::memory().publisher(),
            RelayOptions::new("test", move || now.now_naive()),
            &prometheus::Registry::new(),
        );
        let context = StoreContext {
            pool: self.db.pool(2),
            clock: self.clock.clone(),
            relay,
        };
        DeliveryStore::new(TestMedium, self.delivery_metrics.clone(), context)
    }

    /// Stores a delivery to destination 1.
    async fn store_delivery(&self, store: &DeliveryStore<TestMedium>, id: Uuid) {
        let work = move |tx: &mut DeliveryTransaction<'_, TestMedium>| {
            tx.configure(&settings(1, Some("v2.k.x")))?;
            let (id, day) = (id.to_string(), Duration::from_secs(86_400));
            let row = NewDelivery::new("webhook", id, "1".to_owned(), tx.at(), day);
            tx.store(NewDelivery {
                user_id: Some(7),
                ..row
            })
        };
        store.write(work).await.unwrap();
    }

    fn metric(&self, name: &str) -> String {
        let text = TextEncoder::new().encode_to_string(&self.metrics.registry().gather());
        let text = text.unwrap();
        let start = format!("{name} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&start));
        value.unwrap().to_owned()
    }

    fn count(&self) -> i64 {
        let count = |db: &mut Db| Ok(schema::deliveries::table.count().get_result(db)?);
        let pool = self.db.pool(1);
        pool.read_blocking::<i64, DbError>(count).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_losing_a_lease_only_a_success_can_be_recorded() {
    let stage = Stage::set().await;
    let (slow, quick) = (stage.process(), stage.process());
    stage.store_delivery(&slow, Uuid::now_v7()).await;
    let late = slow.lease(1).await.unwrap().remove(0);
    assert!(quick.lease(1).await.unwrap().is_empty(), "another holds it");
    let mut current = late.clone();
    // The same process may also lease it again later.
    for (process, possible) in [(&slow, "1"), (&quick, "2")] {
        stage.manual.advance(TimeDelta::seconds(31));
        current = process.lease(1).await.unwrap().remove(0);
        assert!(current.lease_ends > late.lease_ends);
        assert_eq!(current.message_id, late.message_id);
        assert_eq!(stage.metric("webhook_possible_duplicates_total"), possible);
        let nothing_new = [
            AttemptOutcome::Retry {
                reason: "The receiver answered 503".to_owned(),
                wait: None,
                maybe_accepted: true,
            },
            AttemptOutcome::Gone("The receiver answered 410".to_owned()),
            AttemptOutcome::Refused("The receiver answered 400".to_owned()),
            AttemptOutcome::NeedsOperator("There is no key".to_owned()),
            AttemptOutcome::NotAttempted(None),
        ];
        for outcome in nothing_new {
            slow.record(&late, &outcome.into()).await.unwrap();
        }
    }
    assert_eq!(stage.metric("webhook_possible_duplicates_total"), "2");
    let calls =
        |outcome: &str| stage.metric(&format!("webhook_calls_total{{outcome=\"{outcome}\"}}"));
    assert_eq!([calls("pending"), calls("failed")], ["0", "0"]);
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    slow.record(&late, &delivered).await.unwrap();
    assert_eq!(calls("delivered"), "1");
    assert!(slow.lease(1).await.unwrap().is_empty(), "another holds it");
    quick.record(&current, &delivered).await.unwrap();
    assert_eq!(calls("delivered"), "1");
    assert_eq!(quick.next_due().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settled_deliveries_are_deleted_after_a_month_and_pending_ones_never() {
    let stage = Stage::set().await;
    let store = stage.process();
    let id = |seconds| {
        let at = uuid::Timestamp::from_unix(uuid::NoContext, seconds, 0);
        Uuid::new_v7(at)
    };
    for seconds in [1_795_000_000, 1_795_000_001] {
        stage.store_delivery(&store, id(seconds)).await;
    }
    let leased = store.lease(1).await.unwrap().remove(0);
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    store.record(&leased, &delivered).await.unwrap();
    for (days, left) in [(29, 2), (2, 1)] {
        stage.manual.advance(TimeDelta::days(days));
        store.housekeep().await.unwrap();
        assert_eq!(stage.count(), left);
    }
    assert_eq!(stage.metric("webhook_calls_waiting"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_remains_of_a_webhook_that_is_removed_during_a_call() {
    let stage = Stage::set().await;
    let store = stage.process();
    stage.store_delivery(&store, Uuid::now_v7()).await;
    let leased = store.lease(1).await.unwrap().remove(0);
    let removed = store.write(|tx| tx.configure(&settings(2, None)));
    removed.await.unwrap();
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    store.record(&leased, &delivered).await.unwrap();
    assert!(store.lease(1).await.unwrap().is_empty());
    assert_eq!(stage.count(), 0);
    assert_eq!(store.next_due().await.unwrap(), None);
}
