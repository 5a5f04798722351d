//! Writes that wait for each other and share a commit.

use std::sync::mpsc;

use db_kit::{Backend, Db, DbError, Pool};
use diesel::prelude::*;
use tokio::task::{JoinHandle, yield_now};

use crate::{COUNTER, counter, fresh};

type Write = Box<dyn FnOnce(&mut Db) -> Result<(), DbError> + Send>;
type Written = JoinHandle<Result<(), DbError>>;

/// Starts writes in this order while another one is in progress, which ends once all of them wait.
async fn beside(pool: &Pool, writes: Vec<Write>) -> Vec<Written> {
    let (releaser, release) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let holder = pool.clone();
    let held = tokio::spawn(async move {
        let hold = move |_: &mut Db| -> Result<(), DbError> {
            begun.send(()).unwrap();
            let _ = release.recv();
            Ok(())
        };
        holder.write_tx(hold).await
    });
    while begins.try_recv().is_err() {
        yield_now().await;
    }
    let mut written = Vec::new();
    for write in writes {
        let pool = pool.clone();
        written.push(tokio::spawn(async move { pool.write_tx(write).await }));
        // Each write waits in line before the next one starts.
        yield_now().await;
    }
    drop(releaser);
    held.await.unwrap().unwrap();
    written
}

fn insert(db: &mut Db, id: i64) -> Result<(), DbError> {
    diesel::insert_into(counter::table)
        .values((counter::id.eq(id), counter::n.eq(0)))
        .execute(db)?;
    Ok(())
}

async fn ids(pool: &Pool) -> Vec<i64> {
    let read = pool.read::<_, DbError, _>(|db| {
        let ids = counter::table.select(counter::id).order(counter::id);
        Ok(ids.load(db)?)
    });
    read.await.unwrap()
}

#[tokio::test]
async fn each_write_of_a_shared_commit_is_all_or_nothing() {
    let fresh = fresh(COUNTER);
    let written = beside(
        &fresh.pool,
        vec![
            Box::new(|db| insert(db, 1)),
            Box::new(|db| insert(db, 2).and(Err(DbError::Busy))),
            // Its second row is refused, and its first one is rolled back too.
            Box::new(|db| insert(db, 3).and_then(|()| insert(db, 3))),
            Box::new(|db| insert(db, 4)),
        ],
    )
    .await;
    let mut outcomes = Vec::new();
    for write in written {
        outcomes.push(write.await.unwrap().is_ok());
    }
    assert_eq!(outcomes, [true, false, false, true]);
    assert_eq!(ids(&fresh.pool).await, [1, 4]);
    assert_eq!(fresh.pool.usage().in_use, 0);
}

#[tokio::test]
async fn a_failed_commit_fails_every_write_in_it() {
    let fresh = fresh(COUNTER);
    if fresh.pool.backend() == Backend::Postgres {
        return;
    }
    let written = beside(
        &fresh.pool,
        vec![
            Box::new(|db| insert(db, 1)),
            Box::new(|db| insert(db, 2).map(|()| panic!("on purpose"))),
            Box::new(|db| insert(db, 3)),
        ],
    )
    .await;
    let mut outcomes = Vec::new();
    for write in written {
        outcomes.push(write.await.map_err(|_| "panicked"));
    }
    // The first one shared its commit with the one that panicked; the last one came after it.
    assert!(
        matches!(
            outcomes.as_slice(),
            [
                Ok(Err(DbError::Unreachable(_))),
                Err("panicked"),
                Ok(Ok(()))
            ]
        ),
        "{outcomes:?}"
    );
    assert_eq!(ids(&fresh.pool).await, [3]);
    assert_eq!(fresh.pool.usage().in_use, 0);
}
