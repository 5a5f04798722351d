#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use broker::{Broker, Relay, RelayOptions};
use event_types::Event;
use prometheus::{Registry, TextEncoder};
use test_kit::TestDb;

use super::*;
use crate::webhooks::model::Reply;

const REPLY: Reply = Reply {
    status: Some(503),
    took: Duration::from_millis(5),
};

/// A webhook with one call to be made, and the processes that may make it.
struct Stage {
    db: TestDb,
    clock: Clock,
    registry: Registry,
    figures: WebhookFigures,
    relay: RelayHandle,
}

impl Stage {
    async fn set(clock: Clock) -> Self {
        let db = TestDb::fresh("webhooks", crate::MIGRATIONS).await;
        let now = clock.clone();
        let relay = Relay::spawn(
            db.pool(1),
            Broker::memory().publisher(),
            RelayOptions::new("test", move || now.now_naive()),
            &Registry::new(),
        );
        let registry = Registry::new();
        Self {
            db,
            clock,
            figures: WebhookFigures::register(&registry).unwrap(),
            registry,
            relay,
        }
    }

    fn process(&self) -> Ledger {
        let figures = self.figures.clone();
        Ledger::new(
            self.db.pool(2),
            self.clock.clone(),
            figures,
            self.relay.clone(),
        )
    }

    async fn call(&self, ledger: &Ledger) {
        let webhook = WebhookConfigured {
            webhook_id: 1,
            revision: 1,
            sealed: Some("v2.k.x".to_owned()),
            paused: false,
        };
        let event = Event::new(Uuid::now_v7(), SOURCE, self.clock.now(), None, &webhook).unwrap();
        let due = WebhookDue {
            webhook_id: 1,
            revision: 1,
            delivery_id: Uuid::now_v7(),
            user_id: UserId::new(7).unwrap(),
            event,
        };
        ledger.configure(Uuid::now_v7(), webhook).await.unwrap();
        let body = "{}".to_owned();
        ledger.take(Uuid::now_v7(), None, due, body).await.unwrap();
    }

    /// How often this was told of a call.
    fn told(&self, outcome: WebhookOutcome) -> String {
        let figures = TextEncoder::new().encode_to_string(&self.registry.gather());
        let sign = format!("webhook_calls_total{{outcome=\"{}\"}} ", name(outcome));
        let figures = figures.unwrap();
        let told = figures.lines().find_map(|line| line.strip_prefix(&sign));
        told.unwrap().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_lost_a_lease_can_tell_that_a_call_was_made_and_nothing_else() {
    let (clock, hand) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let stage = Stage::set(clock).await;
    let (slow, quick) = (stage.process(), stage.process());
    stage.call(&slow).await;
    let late = slow.lease(1).await.unwrap().remove(0);
    let mut holder = late.clone();
    // The same process may hold it again, in a later run.
    for process in [&slow, &quick] {
        hand.advance(TimeDelta::seconds(31));
        holder = process.lease(1).await.unwrap().remove(0);
        assert!(holder.held_until > late.held_until);
        let nothing_new = [
            Answer::Later {
                reply: REPLY,
                reason: "The receiver answered 503".to_owned(),
                wait: None,
                maybe_taken: false,
            },
            Answer::Gone {
                reply: REPLY,
                reason: "The receiver answered 410".to_owned(),
            },
            Answer::Unsent("There is no key".to_owned()),
        ];
        for answer in nothing_new {
            assert!(slow.settle(&late, &answer, true).await.unwrap().is_none());
        }
    }
    assert_eq!(stage.told(WebhookOutcome::Pending), "0");
    assert_eq!(stage.told(WebhookOutcome::Failed), "0");
    let delivered = Answer::Delivered(REPLY);
    slow.settle(&late, &delivered, true).await.unwrap();
    assert_eq!(stage.told(WebhookOutcome::Delivered), "1");
    assert!(slow.lease(1).await.unwrap().is_empty(), "another holds it");
    quick.settle(&holder, &delivered, true).await.unwrap();
    assert_eq!(stage.told(WebhookOutcome::Delivered), "1");
    assert_eq!(quick.next_due().await.unwrap(), None);
}
