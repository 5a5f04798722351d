//! Writes that are committed together. SQLite lets one write at a time and flushes its log at each commit: what comes
//! while one commit is under way shares the next, as PostgreSQL has it by itself.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::connection::{AnsiTransactionManager, TransactionManager};
use diesel::r2d2::PooledConnection;
use tokio::sync::oneshot;

use crate::connection::{Managed, Manager};
use crate::lanes::{Lanes, Outcome, Pending, Ticket};
use crate::{Db, DbError};

/// The most writes of a commit.
const MOST: usize = 64;
/// After this a commit takes no further write: the first of them has waited long enough.
const LONGEST: Duration = Duration::from_millis(4);

/// What a write came to, and the statements that it ran.
type Done<T, E> = (Result<T, E>, u64);

/// Writes in their order, one at a time.
pub(crate) struct Writer {
    lanes: Lanes,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<Box<dyn Piece>>>,
    /// Writes that wait or are being done.
    busy: AtomicUsize,
}

/// What a write is by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One statement: what it has written stays, whatever its caller makes of it.
    Statement,
    /// All or nothing.
    Transaction,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self {
            lanes: Lanes::new("database writer", 1),
            queue: Arc::default(),
        }
    }

    /// Writes that wait or are being done.
    pub(crate) fn busy(&self) -> usize {
        self.queue.busy.load(Ordering::Acquire)
    }

    /// Has `work` done on a connection that `checkout` gives, by itself or with others that wait.
    pub(crate) fn send<T, E, F>(
        &self,
        kind: Kind,
        checkout: impl FnOnce() -> Result<PooledConnection<Manager>, DbError> + Send + 'static,
        work: F,
    ) -> Pending<Done<T, E>>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        let write = Write {
            kind,
            ticket: pending.ticket(),
            state: State::Waits(work),
            answer,
        };
        self.queue.busy.fetch_add(1, Ordering::AcqRel);
        self.queue.waiting().push_back(Box::new(write));
        let queue = Arc::clone(&self.queue);
        // It may find that an earlier commit took the write with it.
        self.lanes.run(move || queue.commit_next(checkout));
        pending
    }
}

impl Queue {
    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<Box<dyn Piece>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next write that somebody waits for.
    fn next(&self) -> Option<Box<dyn Piece>> {
        loop {
            let piece = self.waiting().pop_front()?;
            if piece.begins() {
                return Some(piece);
            }
            self.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn answer(&self, piece: Box<dyn Piece>, lost: Option<&DbError>) {
        // Before anybody hears of it: whoever looks then sees that it is over.
        self.busy.fetch_sub(1, Ordering::AcqRel);
        piece.answer(lost);
    }

    fn commit_next(&self, checkout: impl FnOnce() -> Result<PooledConnection<Manager>, DbError>) {
        let Some(first) = self.next() else { return };
        let mut managed = match checkout() {
            Ok(managed) => managed,
            Err(error) => return self.answer(first, Some(&error)),
        };
        if self.waiting().is_empty() {
            self.commit_alone(managed, first);
        } else {
            let (pieces, lost) = self.commit_some(&mut managed, first);
            drop(managed);
            for piece in pieces {
                self.answer(piece, lost.as_ref());
            }
        }
    }

    fn commit_alone(&self, mut managed: PooledConnection<Manager>, mut piece: Box<dyn Piece>) {
        let ran = catch_unwind(AssertUnwindSafe(|| piece.run_alone(&mut managed)));
        drop(managed);
        match ran {
            Ok(()) => self.answer(piece, None),
            Err(payload) => self.fail(piece, payload),
        }
    }

    fn fail(&self, piece: Box<dyn Piece>, payload: Box<dyn Any + Send>) {
        self.busy.fetch_sub(1, Ordering::AcqRel);
        piece.fail(payload);
    }

    /// Does writes inside of one transaction, and says why all of them are lost, if they are.
    fn commit_some(
        &self,
        managed: &mut Managed,
        first: Box<dyn Piece>,
    ) -> (Vec<Box<dyn Piece>>, Option<DbError>) {
        let mut pieces = Vec::new();
        // Until the end: a connection that is given back with its mark is closed, which rolls back.
        managed.in_transaction = true;
        if let Err(error) = begin(&mut managed.db) {
            managed.in_transaction = false;
            return (vec![first], Some(error.into()));
        }
        let (begun, mut next) = (Instant::now(), Some(first));
        while let Some(mut piece) = next {
            match catch_unwind(AssertUnwindSafe(|| piece.run_among(managed))) {
                Ok(Ok(())) => pieces.push(piece),
                Ok(Err(error)) => {
                    pieces.push(piece);
                    return (pieces, Some(error.into()));
                }
                Err(payload) => {
                    self.fail(piece, payload);
                    let lost = DbError::Unreachable("a write beside it failed".to_owned());
                    return (pieces, Some(lost));
                }
            }
            next = match pieces.len() < MOST && begun.elapsed() < LONGEST {
                true => self.next(),
                false => None,
            };
        }
        match end(&mut managed.db) {
            Ok(()) => {
                managed.in_transaction = false;
                (pieces, None)
            }
            Err(error) => (pieces, Some(error.into())),
        }
    }
}

/// SQLite takes the write lock at once: a transaction that reads first and writes later would fail as soon as another one
/// wrote in between.
fn begin(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE"),
    }
}

/// A transaction inside of one.
fn savepoint(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::begin_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::begin_transaction(conn),
    }
}

fn end(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::commit_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::commit_transaction(conn),
    }
}

fn undo(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Pg(conn) => AnsiTransactionManager::rollback_transaction(conn),
        Db::Sqlite(conn) => AnsiTransactionManager::rollback_transaction(conn),
    }
}

/// Does `work` in a transaction: kept when it returns `Ok`, undone when it does not.
pub(crate) fn transaction<T, E: From<DbError>>(
    managed: &mut Managed,
    work: impl FnOnce(&mut Db) -> Result<T, E>,
) -> Result<T, E> {
    managed.in_transaction = true;
    if let Err(error) = begin(&mut managed.db) {
        // Nothing is open on SQLite; a failed BEGIN on PostgreSQL is a lost connection and noticed as such.
        managed.in_transaction = false;
        return Err(DbError::from(error).into());
    }
    let outcome = work(&mut managed.db);
    let ended = match outcome {
        Ok(_) => end(&mut managed.db),
        Err(_) => undo(&mut managed.db),
    };
    match (outcome, ended) {
        (outcome, Ok(())) => {
            managed.in_transaction = false;
            outcome
        }
        // The connection keeps its mark and is dropped, which rolls back.
        (Ok(_), Err(error)) => Err(DbError::from(error).into()),
        (Err(error), Err(rollback)) => {
            log::debug!("a rollback failed: {rollback}");
            Err(error)
        }
    }
}

/// A write, whatever it gives.
trait Piece: Send {
    /// Whether somebody still waits for it; from then on it is under way.
    fn begins(&self) -> bool;

    /// Does it by itself.
    fn run_alone(&mut self, managed: &mut Managed);

    /// Does it inside of a transaction that others share; an error says that the transaction is of no more use.
    fn run_among(&mut self, managed: &mut Managed) -> QueryResult<()>;

    /// Tells what it came to, or why that is lost.
    fn answer(self: Box<Self>, lost: Option<&DbError>);

    /// Has the panic go on where it was called.
    fn fail(self: Box<Self>, payload: Box<dyn Any + Send>);
}

struct Write<T, E, F> {
    kind: Kind,
    ticket: Ticket,
    state: State<T, E, F>,
    answer: oneshot::Sender<Outcome<Done<T, E>>>,
}

enum State<T, E, F> {
    Waits(F),
    /// Taken out, while it runs.
    Runs,
    Done(Done<T, E>),
}

impl<T, E, F> Write<T, E, F> {
    fn take(&mut self) -> Option<F> {
        match std::mem::replace(&mut self.state, State::Runs) {
            State::Waits(work) => Some(work),
            _ => None,
        }
    }
}

impl<T, E, F> Piece for Write<T, E, F>
where
    F: FnOnce(&mut Db) -> Result<T, E> + Send,
    T: Send,
    E: From<DbError> + Send,
{
    fn begins(&self) -> bool {
        self.ticket.begins()
    }

    fn run_alone(&mut self, managed: &mut Managed) {
        let Some(work) = self.take() else { return };
        let before = managed.statements();
        let outcome = match self.kind {
            Kind::Statement => work(&mut managed.db),
            Kind::Transaction => transaction(managed, work),
        };
        self.state = State::Done((outcome, managed.statements() - before));
    }

    fn run_among(&mut self, managed: &mut Managed) -> QueryResult<()> {
        let Some(work) = self.take() else {
            return Ok(());
        };
        let before = managed.statements();
        // A database that undid everything by itself, as it may when the disk is full, knows no savepoint any more.
        savepoint(&mut managed.db)?;
        let outcome = work(&mut managed.db);
        let ended = match (self.kind, &outcome) {
            (Kind::Transaction, Err(_)) => undo(&mut managed.db),
            _ => end(&mut managed.db),
        };
        self.state = State::Done((outcome, managed.statements() - before));
        ended
    }

    fn answer(self: Box<Self>, lost: Option<&DbError>) {
        let done = match (self.state, lost) {
            (State::Done(done), None) => done,
            (_, Some(error)) => (Err(error.again().into()), 0),
            (_, None) => {
                let lost = DbError::Unreachable("it was not done".to_owned());
                (Err(lost.into()), 0)
            }
        };
        // Whoever asked may have gone; what is done is done.
        let _ = self.answer.send(Ok(done));
    }

    fn fail(self: Box<Self>, payload: Box<dyn Any + Send>) {
        let _ = self.answer.send(Err(payload));
    }
}
