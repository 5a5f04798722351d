//! What callers of the data layer rely on, on SQLite and, if a server is given, on PostgreSQL.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "the server to test against comes from the environment"
)]
#![allow(missing_docs, reason = "code of the table macro")]

mod batcher;
mod outbox;
mod writer;

use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Backend, DatabaseUrl, Db, DbError, Pool, PoolOptions, inbox, is_unique_violation};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use uuid::Uuid;

/// A database of the wanted backend with the given tables. On PostgreSQL it is a schema of its own, dropped at the end.
struct Fresh {
    pool: Pool,
    _folder: tempfile::TempDir,
    schema: Option<(Pool, String)>,
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if let Some((admin, schema)) = &self.schema {
            let sql = format!("DROP SCHEMA {schema} CASCADE");
            let _ = admin.read_blocking::<_, DbError>(|db| Ok(db.batch_execute(&sql)?));
        }
    }
}

fn fresh(tables: &str) -> Fresh {
    let folder = tempfile::tempdir().unwrap();
    let (url, schema) = if std::env::var("HOLDFAST_TEST_BACKEND").as_deref() == Ok("postgres") {
        let server = std::env::var("HOLDFAST_TEST_PG").expect("HOLDFAST_TEST_PG names the server");
        let schema = format!("holdfast_test_{}", Uuid::new_v4().simple());
        let admin = Pool::open(PoolOptions::new(server.parse().unwrap(), 1));
        let sql = format!("CREATE SCHEMA {schema}");
        admin
            .read_blocking::<_, DbError>(|db| Ok(db.batch_execute(&sql)?))
            .unwrap();
        let separator = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{separator}options=-csearch_path%3D{schema}");
        (url.parse().unwrap(), Some((admin, schema)))
    } else {
        (
            DatabaseUrl::sqlite_file(&folder.path().join("new/folder/test.db")),
            None,
        )
    };
    let pool = Pool::open(PoolOptions::new(url, 8));
    pool.read_blocking::<_, DbError>(|db| Ok(db.batch_execute(tables)?))
        .unwrap();
    Fresh {
        pool,
        _folder: folder,
        schema,
    }
}

diesel::table! {
    counter (id) { id -> BigInt, n -> BigInt, }
}

const COUNTER: &str = "CREATE TABLE counter (id BIGINT NOT NULL, n BIGINT NOT NULL, CONSTRAINT counter_id_key UNIQUE (id))";

fn at(seconds: i64) -> NaiveDateTime {
    chrono::DateTime::UNIX_EPOCH.naive_utc() + TimeDelta::seconds(seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_to_a_silent_database_fails_within_its_timeout() {
    let fresh = fresh(COUNTER);
    let mut options = PoolOptions::new(fresh.pool.url().clone(), 1);
    options.acquire_timeout = Duration::from_millis(100);
    options.answer_timeout = Duration::from_millis(200);
    let pool = Pool::open(options);
    let silent = pool
        .read::<(), DbError, _>(|_| {
            std::thread::sleep(Duration::from_secs(1));
            Ok(())
        })
        .await;
    assert!(matches!(silent, Err(DbError::Unreachable(_))), "{silent:?}");
    // No other caller gets the connection before the work on it has ended.
    let next = pool.read::<(), DbError, _>(|_| Ok(())).await;
    assert!(matches!(next, Err(DbError::Busy)), "{next:?}");
    let usage = pool.usage();
    assert_eq!((usage.size, usage.in_use, usage.refused), (1, 1, 1));
    tokio::time::sleep(Duration::from_secs(1)).await;
    pool.read::<(), DbError, _>(|_| Ok(())).await.unwrap();
    assert_eq!(pool.usage().in_use, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_that_read_before_they_write_all_commit() {
    let fresh = fresh(COUNTER);
    fresh
        .pool
        .write_one::<_, DbError, _>(|db| {
            Ok(diesel::insert_into(counter::table)
                .values((counter::id.eq(1), counter::n.eq(0)))
                .execute(db)?)
        })
        .await
        .unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let pool = fresh.pool.clone();
            tokio::spawn(async move {
                pool.write_tx::<_, DbError, _>(|db| {
                    counter::table.select(counter::n).first::<i64>(db)?;
                    diesel::update(counter::table)
                        .set(counter::n.eq(counter::n + 1))
                        .execute(db)?;
                    Ok(())
                })
                .await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let n = fresh
        .pool
        .read::<i64, DbError, _>(|db| Ok(counter::table.select(counter::n).first(db)?))
        .await
        .unwrap();
    assert_eq!(n, 200);
}

/// Otherwise each `first()` is prepared again, and all connections share a lock (`.cargo/config.toml`).
#[tokio::test]
async fn sqlite_keeps_prepared_statements_and_its_connections_share_no_lock() {
    let fresh = fresh(COUNTER);
    if fresh.pool.backend() == Backend::Postgres {
        return;
    }
    let options = fresh.pool.read::<_, DbError, _>(|db| {
        let options =
            db_kit::statement::<Text>("SELECT compile_options FROM pragma_compile_options");
        match db {
            Db::Sqlite(conn) => Ok(options.load::<String>(conn)?),
            Db::Pg(_) => Ok(Vec::new()),
        }
    });
    let options = options.await.unwrap();
    for wanted in ["ENABLE_QPSG", "DEFAULT_MEMSTATUS=0", "THREADSAFE=2"] {
        assert!(options.iter().any(|option| option == wanted), "{options:?}");
    }
    assert!(
        !options
            .iter()
            .any(|option| option == "ENABLE_MEMORY_MANAGEMENT")
    );
}

#[tokio::test]
async fn a_transaction_that_fails_or_panics_leaves_nothing_behind_and_the_pool_usable() {
    let fresh = fresh(COUNTER);
    let insert = |db: &mut db_kit::Db| {
        diesel::insert_into(counter::table)
            .values((counter::id.eq(1), counter::n.eq(0)))
            .execute(db)
    };
    let refused = fresh
        .pool
        .write_tx::<(), DbError, _>(move |db| {
            insert(db)?;
            Err(DbError::Busy)
        })
        .await;
    assert!(matches!(refused, Err(DbError::Busy)));
    let pool = fresh.pool.clone();
    let panicked = tokio::spawn(async move {
        pool.write_tx::<(), DbError, _>(move |db| {
            insert(db)?;
            panic!("on purpose")
        })
        .await
    })
    .await;
    assert!(panicked.is_err());
    let rows = fresh
        .pool
        .write_tx::<i64, DbError, _>(|db| Ok(counter::table.count().get_result(db)?))
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn a_unique_violation_is_recognised_by_its_columns() {
    let fresh = fresh(COUNTER);
    let insert = || {
        fresh.pool.write_one::<_, DbError, _>(|db| {
            Ok(diesel::insert_into(counter::table)
                .values((counter::id.eq(1), counter::n.eq(0)))
                .execute(db)?)
        })
    };
    insert().await.unwrap();
    let error = insert().await.unwrap_err();
    assert!(is_unique_violation(&error, "counter", &["id"]), "{error:?}");
    assert!(!is_unique_violation(&error, "counter", &["n"]));
    assert!(!is_unique_violation(&DbError::Busy, "counter", &["id"]));
}

fn tables() -> &'static str {
    include_str!("../../sql/postgres.sql")
}

#[test]
fn both_databases_have_the_same_outbox_and_inbox() {
    assert_eq!(include_str!("../../sql/sqlite.sql"), tables());
}

#[tokio::test]
async fn each_consumer_records_an_event_once() {
    let fresh = fresh(tables());
    let record = |consumer: &'static str| {
        fresh.pool.write_one::<_, DbError, _>(move |db| {
            Ok(inbox::record(db, consumer, Uuid::from_u128(1), at(0))?)
        })
    };
    assert!(record("chat").await.unwrap());
    assert!(!record("chat").await.unwrap());
    assert!(record("mail").await.unwrap());
}

#[tokio::test]
async fn the_inbox_is_cleaned_oldest_first_in_batches() {
    let fresh = fresh(tables());
    let change = fresh.pool.write_one::<_, DbError, _>(|db| {
        for second in 1..=5_u8 {
            let id = Uuid::from_u128(second.into());
            inbox::record(db, "chat", id, at(second.into()))?;
        }
        assert_eq!(inbox::oldest(db)?, Some(at(1)));
        assert_eq!(inbox::delete_before(db, at(5), 3)?, 3);
        assert_eq!(inbox::oldest(db)?, Some(at(4)));
        assert_eq!(inbox::delete_before(db, at(5), 3)?, 1);
        assert_eq!(inbox::delete_before(db, at(5), 3)?, 0);
        Ok(inbox::oldest(db)?)
    });
    assert_eq!(change.await.unwrap(), Some(at(5)));
}

#[tokio::test]
async fn a_text_with_a_nul_is_refused_for_good_or_stored_unchanged() {
    let fresh = fresh("CREATE TABLE notes (text TEXT NOT NULL)");
    let write = fresh.pool.write_one::<_, DbError, _>(|db| {
        let text = diesel::sql_query("INSERT INTO notes (text) VALUES ($1)")
            .bind::<diesel::sql_types::Text, _>("before\0after");
        Ok(db_kit::on_backend!(db, conn => text.execute(conn))?)
    });
    match fresh.pool.backend() {
        db_kit::Backend::Postgres => {
            let refused = write.await.unwrap_err();
            assert!(refused.is_lasting(), "{refused}");
            assert!(refused.to_string().contains("invalid byte sequence"));
        }
        db_kit::Backend::Sqlite => assert_eq!(write.await.unwrap(), 1),
    }
}

const SAMPLE: diesel_migrations::EmbeddedMigrations =
    diesel_migrations::embed_migrations!("tests/migrations");

#[test]
fn processes_that_start_together_apply_each_migration_once() {
    let fresh = fresh("SELECT 1");
    let url = fresh.pool.url().clone();
    let migrations = db_kit::Migrations {
        postgres: &SAMPLE,
        sqlite: &SAMPLE,
    };
    let applied: usize = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| {
                let pool = Pool::open(PoolOptions::new(url.clone(), 1));
                scope.spawn(move || db_kit::migrations::run(&pool, migrations).unwrap().len())
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).sum()
    });
    assert_eq!(applied, 1);
    let pending = fresh
        .pool
        .read_blocking(|db| db_kit::migrations::pending(db, migrations))
        .unwrap();
    assert!(pending.is_empty());
}
