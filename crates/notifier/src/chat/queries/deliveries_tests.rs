#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use chrono::{DateTime, TimeDelta};
use test_kit::TestDb;
use uuid::{NoContext, Timestamp, Uuid};

use super::*;
use crate::chat::model::{Kind, NewDelivery};
use crate::chat::queries::insert_deliveries;

fn at(days: i64) -> NaiveDateTime {
    let first = DateTime::from_timestamp(1_795_000_000, 0).unwrap();
    (first + TimeDelta::days(days)).naive_utc()
}

/// Made on a day, and settled on another one.
fn delivery(made: i64, settled: Option<i64>) -> NewDelivery {
    let made = at(made);
    let seconds = u64::try_from(made.and_utc().timestamp()).unwrap();
    let id = Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0));
    NewDelivery {
        event_id: id.to_string(),
        session_id: Uuid::now_v7().to_string(),
        project_id: 3,
        revision: 1,
        request_id: None,
        payload: None,
        state: match settled {
            Some(_) => Ending::Delivered.name(),
            None => PENDING,
        },
        attempts: 0,
        next_attempt_at: made,
        give_up_at: made,
        reason: None,
        created_at: made,
        settled_at: settled.map(at),
        kind: Kind::Plan.name(),
    }
}

#[tokio::test]
async fn what_is_settled_is_forgotten_from_the_oldest_on_and_what_is_open_or_was_settled_late_is_not()
 {
    let fresh = TestDb::fresh("deliveries", crate::MIGRATIONS).await;
    let oldest = delivery(0, Some(0));
    let rows = [
        oldest.clone(),
        delivery(1, Some(2)),
        delivery(1, Some(9)),
        delivery(1, None),
        delivery(9, Some(9)),
    ];
    let oldest = oldest.event_id;
    let done = fresh
        .pool(1)
        .write_tx::<_, db_kit::DbError, _>(move |db| {
            insert_deliveries(db, &rows)?;
            let mut forgotten = Vec::new();
            for (until, most) in [(at(0), 5), (at(5), 1), (at(5), 5), (at(5), 5)] {
                forgotten.push(forget_settled_before(db, until, most)?);
                if forgotten.len() == 2 {
                    assert!(known(db)?.iter().all(|id| *id != oldest));
                }
            }
            Ok((forgotten, known(db)?.len()))
        })
        .await
        .unwrap();
    assert_eq!(done, (vec![0, 1, 1, 0], 3));
}

fn known(db: &mut Db) -> QueryResult<Vec<String>> {
    deliveries::table.select(deliveries::event_id).load(db)
}
