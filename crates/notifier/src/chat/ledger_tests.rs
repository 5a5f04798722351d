#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use broker::{Relay, RelayOptions};
use prometheus::Registry;
use test_kit::TestDb;

use super::super::lane::Turn;
use super::super::lane::tests::{PROJECT, found, plan};
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_down_is_looked_at_however_much_is_held() {
    let db = TestDb::fresh("notifications", crate::MIGRATIONS).await;
    let (clock, _) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let (registry, broker, now) = (Registry::new(), Broker::memory(), clock.now_naive());
    let options = RelayOptions::new("test", move || now);
    let relay = Relay::spawn(db.pool(1), broker.publisher(), options, &registry);
    let figures = Figures::register(&registry).unwrap();
    let config = ChatConfig::default();
    let ledger = Ledger::new(db.pool(2), clock, config, figures, relay, Some(broker));
    let other = BTreeSet::from([PROJECT + 1]);
    let hook = ledger.write(ledger.clock.now(), move |moves| moves.expect(&other, now));
    hook.await.unwrap();
    ledger.next_due().await.unwrap();
    let turn = Turn {
        free_at: now,
        revision: 5,
        ours: false,
    };
    ledger.lane.heed(&found(Some(turn)), now);
    assert!(!ledger.is_due());
    let _held = ledger.lane.hold(&plan(5, 1), now, config).unwrap();
    assert!(ledger.is_due());
    ledger.expect([(PROJECT + 1, now)].into());
    assert!(!ledger.is_due());
    ledger.next_due().await.unwrap();
    assert!(ledger.is_due());
}
