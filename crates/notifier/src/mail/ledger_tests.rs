#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use chrono::{DateTime, TimeDelta};
use diesel::prelude::*;
use prometheus::Registry;
use test_kit::TestDb;

use super::*;
use crate::schema::mails;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_settled_is_forgotten_after_a_month_and_what_is_open_never() {
    let db = TestDb::fresh("mails", crate::MIGRATIONS).await;
    let (clock, hand) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let terms = Terms {
        give_up_after: Duration::from_secs(3_600),
        lease: Duration::from_secs(60),
    };
    let figures = MailFigures::register(&Registry::new()).unwrap();
    let ledger = Ledger::new(db.pool(2), clock, terms, figures.clone());
    for _ in 0..2 {
        let requested = MailRequested {
            template: "invitation".to_owned(),
            sealed: "v2.k.x".to_owned(),
        };
        ledger.take(Uuid::now_v7(), None, requested).await.unwrap();
    }
    let held = ledger.lease(1).await.unwrap();
    ledger
        .settle(&held[0], &Answer::Delivered, false)
        .await
        .unwrap();
    let left = async || {
        ledger.keep_house().await.unwrap();
        let count = |db: &mut Db| Ok(mails::table.count().get_result::<i64>(db)?);
        ledger.pool.read::<_, DbError, _>(count).await.unwrap()
    };
    hand.advance(TimeDelta::days(29));
    assert_eq!(left().await, 2);
    hand.advance(TimeDelta::days(2));
    assert_eq!(left().await, 1);
    assert_eq!(figures.waiting.get(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_lost_a_lease_cannot_put_a_mail_back_but_can_tell_that_it_went_out() {
    let db = TestDb::fresh("mails", crate::MIGRATIONS).await;
    let (clock, hand) = Clock::manual(DateTime::from_timestamp(1_795_000_000, 0).unwrap());
    let terms = Terms {
        give_up_after: Duration::from_secs(3_600),
        lease: Duration::from_secs(60),
    };
    let figures = MailFigures::register(&Registry::new()).unwrap();
    let ledger = || Ledger::new(db.pool(2), clock.clone(), terms, figures.clone());
    let (slow, quick) = (ledger(), ledger());
    let requested = MailRequested {
        template: "invitation".to_owned(),
        sealed: "v2.k.x".to_owned(),
    };
    slow.take(Uuid::now_v7(), None, requested).await.unwrap();
    let late = slow.lease(5).await.unwrap();
    assert!(quick.lease(5).await.unwrap().is_empty(), "it is held");
    hand.advance(TimeDelta::seconds(61));
    let taken_over = quick.lease(5).await.unwrap();
    assert_eq!((late.len(), taken_over.len()), (1, 1));
    assert_eq!(figures.possible_duplicates.get(), 1);
    let back = Answer::Untried(None);
    slow.settle(&late[0], &back, false).await.unwrap();
    assert!(
        slow.lease(5).await.unwrap().is_empty(),
        "it is held by another"
    );
    hand.advance(TimeDelta::seconds(61));
    let again = slow.lease(5).await.unwrap();
    slow.settle(&late[0], &back, false).await.unwrap();
    assert!(
        quick.lease(5).await.unwrap().is_empty(),
        "it is held by the same process, by a later run"
    );
    assert_eq!(again.len(), 1);
    slow.settle(&late[0], &Answer::Delivered, false)
        .await
        .unwrap();
    quick.settle(&taken_over[0], &back, false).await.unwrap();
    assert_eq!(quick.next_due().await.unwrap(), None);
}
