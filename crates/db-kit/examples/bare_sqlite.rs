//! Measures how many flushed transactions plain SQLite achieves, the yardstick of `cargo xtask bench`. Its arguments are a file
//! that does not exist yet, `two_inserts` or `eight_upserts`, and a number of seconds. It prints transactions per second. It uses
//! the allocator of the services.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking and says what it measured"
)]

use std::time::{Duration, Instant};

use db_kit::statement;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Text};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file");
    let work = arguments.next().expect("the work");
    let seconds = arguments.next().expect("seconds").parse().unwrap();
    let mut db = SqliteConnection::establish(&file).unwrap();
    db.batch_execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
         CREATE TABLE a (id TEXT PRIMARY KEY, user_id BIGINT NOT NULL, body TEXT NOT NULL, at TIMESTAMP NOT NULL); \
         CREATE INDEX a_user ON a (user_id, at); \
         CREATE TABLE b (id TEXT PRIMARY KEY, body TEXT NOT NULL, at TIMESTAMP NOT NULL); \
         CREATE TABLE r (kind INT, user_id BIGINT, at INT, minutes BIGINT NOT NULL, PRIMARY KEY (kind, user_id, at))",
    )
    .unwrap();
    let write: fn(&mut SqliteConnection, i64) -> QueryResult<()> = match work.as_str() {
        "two_inserts" => two_inserts,
        "eight_upserts" => eight_upserts,
        _ => panic!("two_inserts or eight_upserts"),
    };
    let (started, time) = (Instant::now(), Duration::from_secs(seconds));
    let mut done: i64 = 0;
    while started.elapsed() < time {
        db.immediate_transaction(|db| write(db, done)).unwrap();
        done += 1;
    }
    let done = f64::from(u32::try_from(done).unwrap());
    println!("{}", done / started.elapsed().as_secs_f64());
}

fn two_inserts(db: &mut SqliteConnection, n: i64) -> QueryResult<()> {
    let id = uuid::Uuid::now_v7().to_string();
    let a = statement::<()>("INSERT INTO a VALUES ($1, $2, $3, datetime('now'))")
        .bind::<Text, _>(&id)
        .bind::<BigInt, _>(n % 2_000)
        .bind::<Text, _>("x".repeat(250));
    a.execute(db)?;
    let b = statement::<()>("INSERT INTO b VALUES ($1, $2, datetime('now'))")
        .bind::<Text, _>(&id)
        .bind::<Text, _>("x".repeat(900));
    b.execute(db)?;
    Ok(())
}

fn eight_upserts(db: &mut SqliteConnection, n: i64) -> QueryResult<()> {
    for kind in 1..=8 {
        statement::<()>(
            "INSERT INTO r VALUES ($1, $2, 0, 25) \
             ON CONFLICT (kind, user_id, at) DO UPDATE SET minutes = r.minutes + 25",
        )
        .bind::<Integer, _>(kind)
        .bind::<BigInt, _>(n % 2_000)
        .execute(db)?;
    }
    Ok(())
}
