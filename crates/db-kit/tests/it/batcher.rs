//! Concurrent reads and writes that are executed as one.

use std::collections::HashSet;
use std::sync::Mutex;

use db_kit::{Backend, Batcher, Db, DbError};
use diesel::connection::SimpleConnection;
use diesel::result::Error;
use tokio::task::{JoinHandle, yield_now};

use crate::fresh;

/// While a test locks it, no read or write of a negative key ends.
static GATE: Mutex<()> = Mutex::new(());
/// Lets one test at a time use the gate.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
/// The keys of each read that was executed.
static READS: Mutex<Vec<Vec<i64>>> = Mutex::new(Vec::new());

type Answer = Result<Result<i64, DbError>, tokio::task::JoinError>;

const UNLUCKY: i64 = 13;
const FATAL: i64 = 99;

fn begin(keys: &[i64]) {
    READS.lock().unwrap().push(keys.to_vec());
    if keys.iter().any(|key| *key < 0) {
        drop(GATE.lock().unwrap());
    }
}

fn double(_: &mut Db, keys: &[i64]) -> Result<Vec<i64>, DbError> {
    begin(keys);
    assert!(!keys.contains(&FATAL), "on purpose");
    match keys.contains(&UNLUCKY) {
        true => Err(DbError::Query(Error::NotFound)),
        false => Ok(keys.iter().map(|key| key * 2).collect()),
    }
}

#[expect(
    clippy::await_holding_lock,
    reason = "the database's thread waits for it, not a task"
)]
/// Reads these keys concurrently while another read is in progress; returns the answers and the number of reads.
async fn beside(keys: &'static [i64]) -> (Vec<Answer>, usize) {
    let _turn = TURN.lock().await;
    let fresh = fresh("SELECT 1");
    let batcher: &Batcher<i64, i64> = Box::leak(Box::new(fresh.pool.batch_reads(double)));
    READS.lock().unwrap().clear();
    let guard = GATE.lock().unwrap();
    let first = tokio::spawn(batcher.run(-1));
    while READS.lock().unwrap().is_empty() {
        std::thread::yield_now();
        yield_now().await;
    }
    let reads: Vec<JoinHandle<_>> = keys
        .iter()
        .map(|key| tokio::spawn(batcher.run(*key)))
        .collect();
    // Each read is requested before the next line.
    yield_now().await;
    drop(guard);
    assert_eq!(first.await.unwrap().unwrap(), -2);
    let mut answers = Vec::new();
    for read in reads {
        answers.push(read.await);
    }
    let reads = READS.lock().unwrap().len();
    (answers, reads)
}

#[tokio::test]
async fn concurrent_callers_share_the_next_read_and_each_gets_its_own_answer() {
    let (answers, reads) = beside(&[1, 2, 3, 2]).await;
    let answers: Vec<i64> = answers
        .into_iter()
        .map(|answer| answer.unwrap().unwrap())
        .collect();
    assert_eq!(answers, [2, 4, 6, 4]);
    // The one that was in progress, and one for all the others.
    assert_eq!(reads, 2);
}

#[tokio::test]
async fn an_error_of_one_key_fails_only_that_key() {
    let (answers, _) = beside(&[1, UNLUCKY, 3]).await;
    let answers: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.unwrap().ok())
        .collect();
    assert_eq!(answers, [Some(2), None, Some(6)]);
}

#[tokio::test]
async fn a_panic_reaches_one_caller_and_the_next_read_works() {
    let (answers, _) = beside(&[1, FATAL]).await;
    assert!(matches!(
        answers.as_slice(),
        [Err(_), Ok(Err(DbError::Unreachable(_)))]
    ));
    let (mut answers, _) = beside(&[4]).await;
    assert_eq!(answers.remove(0).unwrap().unwrap(), 8);
}

/// The owners of each write that was executed.
static WRITES: Mutex<Vec<Vec<i64>>> = Mutex::new(Vec::new());

/// An owner and a number; no number is stored twice.
type Note = (i64, i64);

fn insert_notes(db: &mut Db, notes: &[Note]) -> Result<Vec<i64>, DbError> {
    let owners = notes.iter().map(|(owner, _)| *owner).collect();
    WRITES.lock().unwrap().push(owners);
    if notes.iter().any(|(owner, _)| *owner < 0) {
        drop(GATE.lock().unwrap());
    }
    let rows: Vec<String> = notes
        .iter()
        .map(|(owner, number)| format!("({owner}, {number})"))
        .collect();
    let insert = format!(
        "INSERT INTO notes (owner, number) VALUES {}",
        rows.join(", ")
    );
    db.batch_execute(&insert)?;
    Ok(notes.iter().map(|(_, number)| *number).collect())
}

#[expect(
    clippy::await_holding_lock,
    reason = "the database's threads wait for it, not a task"
)]
#[tokio::test]
async fn writes_of_different_owners_are_executed_as_one_and_a_failing_one_fails_alone() {
    let _turn = TURN.lock().await;
    let fresh = fresh("CREATE TABLE notes (owner BIGINT NOT NULL, number BIGINT NOT NULL UNIQUE)");
    let together = fresh.pool.backend() == Backend::Postgres;
    let batcher: &Batcher<Note, i64> = Box::leak(Box::new(
        fresh.pool.batch_writes(insert_notes, |note| note.0),
    ));
    WRITES.lock().unwrap().clear();
    let guard = GATE.lock().unwrap();
    // As many as run at the same time.
    let mut first = Vec::new();
    for note in [(-1, 1), (-2, 2)] {
        first.push(tokio::spawn(batcher.run(note)));
        while together && WRITES.lock().unwrap().len() < first.len() {
            yield_now().await;
        }
    }
    let notes = [(7, 3), (7, 4), (8, 5), (9, 5), (9, 6), (7, 7)];
    let writes: Vec<JoinHandle<_>> = notes
        .iter()
        .map(|note| tokio::spawn(batcher.run(*note)))
        .collect();
    // Each write is requested before the next line.
    yield_now().await;
    drop(guard);
    for (write, number) in first.into_iter().zip([1, 2]) {
        assert_eq!(write.await.unwrap().unwrap(), number);
    }
    let mut kept = Vec::new();
    for write in writes {
        kept.push(write.await.unwrap().ok());
    }
    // Only one of the two writes of the same number succeeds.
    assert_eq!(kept.iter().filter(|number| **number == Some(5)).count(), 1);
    kept.retain(|number| *number != Some(5) && number.is_some());
    assert_eq!(kept, [Some(3), Some(4), Some(6), Some(7)]);
    let writes = WRITES.lock().unwrap();
    for owners in writes.iter() {
        let different: HashSet<_> = owners.iter().collect();
        assert_eq!(different.len(), owners.len(), "{writes:?}");
    }
    assert_eq!(
        writes.iter().any(|owners| owners.len() > 1),
        together,
        "{writes:?}"
    );
}
