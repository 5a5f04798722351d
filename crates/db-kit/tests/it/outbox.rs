use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use db_kit::outbox::{self, NewOutboxRow, OutboxRow};
use db_kit::{Db, DbError, Pool};
use diesel::connection::{Connection, InstrumentationEvent};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use uuid::Uuid;

use crate::{Fresh, at, fresh, tables};

const LEASE: Duration = Duration::from_secs(30);

fn row(number: u128) -> NewOutboxRow {
    NewOutboxRow {
        id: Uuid::from_u128(number),
        exchange: "work.events",
        routing_key: "x.v1",
        body: "{}".into(),
        created_at: at(0),
    }
}

/// Creates an outbox with these rows.
fn with(numbers: impl IntoIterator<Item = u128>) -> Fresh {
    let fresh = fresh(tables());
    for number in numbers {
        change(&fresh.pool, move |db| outbox::insert(db, &row(number)));
    }
    fresh
}

fn change<T>(pool: &Pool, work: impl FnOnce(&mut Db) -> diesel::QueryResult<T>) -> T {
    pool.write_tx_blocking::<_, DbError>(|db| Ok(work(db)?))
        .unwrap()
}

/// Leases for 30 seconds, from this second on.
fn lease(pool: &Pool, batch: &str, second: i64, limit: i64, after: u128) -> Vec<OutboxRow> {
    let after = match after {
        0 => String::new(),
        after => Uuid::from_u128(after).to_string(),
    };
    change(pool, |db| {
        outbox::lease(db, batch, at(second), LEASE, limit, &after)
    })
}

fn end(pool: &Pool, batch: &str, out: impl IntoIterator<Item = u128>) {
    let out: Vec<String> = out
        .into_iter()
        .map(|number| Uuid::from_u128(number).to_string())
        .collect();
    change(pool, |db| {
        outbox::delete(db, &out)?;
        outbox::end_lease(db, batch)
    });
}

fn is_any_due(pool: &Pool, second: i64) -> bool {
    pool.read_blocking::<_, DbError>(|db| Ok(outbox::is_any_due(db, at(second))?))
        .unwrap()
}

fn numbers(rows: &[OutboxRow]) -> Vec<u128> {
    rows.iter()
        .map(|row| row.id.parse::<Uuid>().unwrap().as_u128())
        .collect()
}

fn reclaimed(rows: &[OutboxRow]) -> usize {
    rows.iter().filter(|row| row.reclaimed).count()
}

#[test]
fn concurrent_leases_get_different_rows() {
    let fresh = with(1..=100);
    let pool = &fresh.pool;
    let batches: Vec<Vec<OutboxRow>> = std::thread::scope(|scope| {
        let leases: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|batch| scope.spawn(move || lease(pool, batch, 1, 30, 0)))
            .into();
        let leased = leases.into_iter().map(|lease| lease.join().unwrap());
        leased.collect()
    });
    let mut ids: Vec<u128> = batches.iter().flat_map(|rows| numbers(rows)).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=100).collect::<Vec<_>>());
    assert_eq!(batches.iter().map(|rows| reclaimed(rows)).sum::<usize>(), 0);
    assert!(!is_any_due(pool, 1));
}

#[test]
fn confirmed_rows_are_deleted_and_expired_ones_are_leased_again_as_reclaimed() {
    let fresh = with(1..=10);
    let pool = &fresh.pool;
    assert_eq!(numbers(&lease(pool, "a", 1, 6, 0)), [1, 2, 3, 4, 5, 6]);
    assert_eq!(numbers(&lease(pool, "b", 1, 6, 0)), [7, 8, 9, 10]);
    end(pool, "a", 1..=6);
    let stats = pool
        .read_blocking::<_, DbError>(|db| Ok(outbox::stats(db)?))
        .unwrap();
    assert_eq!(
        (stats.pending, stats.oldest, stats.unroutable),
        (4, Some(at(0)), 0)
    );
    end(pool, "somebody", []);
    assert!(!is_any_due(pool, 30));
    assert!(is_any_due(pool, 31));
    let again = lease(pool, "c", 31, 200, 0);
    assert_eq!((again.len(), reclaimed(&again)), (4, 4));
    // The previous holder cannot release a lease that is another's now.
    end(pool, "b", [7]);
    assert!(!is_any_due(pool, 32));
    end(pool, "c", []);
    let free = lease(pool, "d", 33, 200, 0);
    assert_eq!((numbers(&free), reclaimed(&free)), (vec![8, 9, 10], 0));
}

#[test]
fn an_expired_row_counts_as_reclaimed_once_however_it_is_leased_again() {
    let fresh = with(1..=10);
    let pool = &fresh.pool;
    assert_eq!(lease(pool, "dead", 1, 8, 0).len(), 8);
    // In the middle of the expired lease, then behind it, then before it.
    let middle = lease(pool, "a", 40, 2, 3);
    assert_eq!((numbers(&middle), reclaimed(&middle)), (vec![4, 5], 2));
    let behind = lease(pool, "b", 40, 5, 5);
    assert_eq!(numbers(&behind), [6, 7, 8, 9, 10]);
    assert_eq!(reclaimed(&behind), 3);
    end(pool, "a", [4]);
    let before = lease(pool, "c", 40, 10, 0);
    assert_eq!(
        (numbers(&before), reclaimed(&before)),
        (vec![1, 2, 3, 5], 3)
    );
    end(pool, "b", []);
    end(pool, "c", []);
    let all = lease(pool, "d", 40, 10, 0);
    assert_eq!((all.len(), reclaimed(&all)), (9, 0));
}

#[test]
fn a_late_row_inside_a_lease_waits_for_its_end_and_one_outside_does_not() {
    let fresh = with([10, 20, 30, 40]);
    let pool = &fresh.pool;
    assert_eq!(numbers(&lease(pool, "a", 1, 2, 0)), [10, 20]);
    assert_eq!(numbers(&lease(pool, "b", 1, 1, 30)), [40]);
    for late in [5, 15, 35, 45] {
        change(pool, move |db| outbox::insert(db, &row(late)));
    }
    assert!(is_any_due(pool, 2));
    assert_eq!(numbers(&lease(pool, "c", 2, 10, 0)), [5, 30, 35, 45]);
    assert!(!is_any_due(pool, 2));
    end(pool, "a", [10, 20]);
    assert!(is_any_due(pool, 3));
    let late = lease(pool, "d", 3, 10, 0);
    assert_eq!((numbers(&late), reclaimed(&late)), (vec![15], 0));
    // Each lease covers its own rows only.
    end(pool, "c", [5]);
    assert_eq!(numbers(&lease(pool, "e", 4, 10, 0)), [30, 35, 45]);
}

#[test]
fn a_statement_given_as_text_is_prepared_once_per_connection() {
    let fresh = with([]);
    let (counted, kept) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, keep) = (counted.clone(), kept.clone());
    fresh
        .pool
        .read_blocking::<_, DbError>(|db| {
            db.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
                InstrumentationEvent::StartQuery { .. } => drop(count.fetch_add(1, SeqCst)),
                InstrumentationEvent::CacheQuery { .. } => drop(keep.fetch_add(1, SeqCst)),
                _ => {}
            });
            for id in ["a", "b"] {
                let text = "SELECT count(*) FROM outbox WHERE id = $1 OR id > $1";
                let count = db_kit::statement::<BigInt>(text).bind::<Text, _>(id);
                let count: i64 = count.get_result(db)?;
                assert_eq!(count, 0);
                let text = "SELECT count(*) FROM outbox WHERE id = $1";
                db_kit::statement::<()>(text)
                    .bind::<Text, _>(id)
                    .execute(db)?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!((counted.load(SeqCst), kept.load(SeqCst)), (4, 2));
}
