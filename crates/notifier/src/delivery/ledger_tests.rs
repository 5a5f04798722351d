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
use crate::delivery::state::{AttemptOutcome, Policy, Reasons};
use crate::delivery::waits::call_wait;
use crate::schema;

/// Webhook calls that the test makes itself.
#[derive(Clone)]
struct ByHand;

const POLICY: Policy = Policy {
    lease: Duration::from_secs(30),
    interval: Duration::ZERO,
    retry_wait: call_wait,
    patience: None,
    locked_for: None,
    keeps_payload: false,
    digest: 1,
    reasons: Reasons {
        unknown: "",
        resting: "",
        disabled: "",
        removed: None,
    },
};

impl Medium for ByHand {
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
    hand: ManualClock,
    metrics: Metrics,
    figures: DeliveryMetrics,
}

impl Stage {
    async fn set() -> Self {
        let (clock, hand) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
        let metrics = Metrics::new().unwrap();
        Self {
            db: TestDb::fresh("ledger", crate::MIGRATIONS).await,
            clock,
            hand,
            figures: DeliveryMetrics::webhooks(&metrics).unwrap(),
            metrics,
        }
    }

    fn process(&self) -> DeliveryStore<ByHand> {
        let now = self.clock.clone();
        let relay = Relay::spawn(
            self.db.pool(1),
            Broker::memory().publisher(),
            RelayOptions::new("test", move || now.now_naive()),
            &prometheus::Registry::new(),
        );
        let shared = Shared {
            pool: self.db.pool(2),
            clock: self.clock.clone(),
            relay,
        };
        DeliveryStore::new(ByHand, self.figures.clone(), shared)
    }

    /// Stores a delivery to destination 1.
    async fn tell(&self, ledger: &DeliveryStore<ByHand>, id: Uuid) {
        let work = move |transitions: &mut Transitions<'_, ByHand>| {
            transitions.configure(&settings(1, Some("v2.k.x")))?;
            let (id, day) = (id.to_string(), Duration::from_secs(86_400));
            let row = NewDelivery::new("webhook", id, "1".to_owned(), transitions.at(), day);
            transitions.store(NewDelivery {
                user_id: Some(7),
                ..row
            })
        };
        ledger.write(work).await.unwrap();
    }

    fn figure(&self, name: &str) -> String {
        let figures = TextEncoder::new().encode_to_string(&self.metrics.registry().gather());
        let figures = figures.unwrap();
        let start = format!("{name} ");
        let figure = figures.lines().find_map(|line| line.strip_prefix(&start));
        figure.unwrap().to_owned()
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
    stage.tell(&slow, Uuid::now_v7()).await;
    let late = slow.lease(1).await.unwrap().remove(0);
    assert!(quick.lease(1).await.unwrap().is_empty(), "another holds it");
    let mut holder = late.clone();
    // The same process may also lease it again later.
    for (process, possible) in [(&slow, "1"), (&quick, "2")] {
        stage.hand.advance(TimeDelta::seconds(31));
        holder = process.lease(1).await.unwrap().remove(0);
        assert!(holder.lease_ends > late.lease_ends);
        assert_eq!(holder.message_id, late.message_id);
        assert_eq!(stage.figure("webhook_possible_duplicates_total"), possible);
        let nothing_new = [
            AttemptOutcome::Later {
                reason: "The receiver answered 503".to_owned(),
                wait: None,
                maybe_taken: true,
            },
            AttemptOutcome::Gone("The receiver answered 410".to_owned()),
            AttemptOutcome::Refused("The receiver answered 400".to_owned()),
            AttemptOutcome::NeedsOperator("There is no key".to_owned()),
            AttemptOutcome::NotAttempted(None),
        ];
        for answer in nothing_new {
            slow.settle(&late, &answer.into()).await.unwrap();
        }
    }
    assert_eq!(stage.figure("webhook_possible_duplicates_total"), "2");
    let told =
        |outcome: &str| stage.figure(&format!("webhook_calls_total{{outcome=\"{outcome}\"}}"));
    assert_eq!([told("pending"), told("failed")], ["0", "0"]);
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    slow.settle(&late, &delivered).await.unwrap();
    assert_eq!(told("delivered"), "1");
    assert!(slow.lease(1).await.unwrap().is_empty(), "another holds it");
    quick.settle(&holder, &delivered).await.unwrap();
    assert_eq!(told("delivered"), "1");
    assert_eq!(quick.next_due().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settled_deliveries_are_deleted_after_a_month_and_pending_ones_never() {
    let stage = Stage::set().await;
    let ledger = stage.process();
    let id = |seconds| {
        let at = uuid::Timestamp::from_unix(uuid::NoContext, seconds, 0);
        Uuid::new_v7(at)
    };
    for seconds in [1_795_000_000, 1_795_000_001] {
        stage.tell(&ledger, id(seconds)).await;
    }
    let held = ledger.lease(1).await.unwrap().remove(0);
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    ledger.settle(&held, &delivered).await.unwrap();
    for (days, left) in [(29, 2), (2, 1)] {
        stage.hand.advance(TimeDelta::days(days));
        ledger.keep_house().await.unwrap();
        assert_eq!(stage.count(), left);
    }
    assert_eq!(stage.figure("webhook_calls_waiting"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_remains_of_a_webhook_that_is_removed_during_a_call() {
    let stage = Stage::set().await;
    let ledger = stage.process();
    stage.tell(&ledger, Uuid::now_v7()).await;
    let held = ledger.lease(1).await.unwrap().remove(0);
    let removed = ledger.write(|transitions| transitions.configure(&settings(2, None)));
    removed.await.unwrap();
    let delivered = AttemptReport::from(AttemptOutcome::Delivered);
    ledger.settle(&held, &delivered).await.unwrap();
    assert!(ledger.lease(1).await.unwrap().is_empty());
    assert_eq!(stage.count(), 0);
    assert_eq!(ledger.next_due().await.unwrap(), None);
}
