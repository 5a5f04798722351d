//! Writes that are committed together. SQLite lets one write at a time and its log is flushed after each commit: what comes
//! while one commit is under way shares the next, as PostgreSQL has it by itself, and is done while the one before is flushed.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel::r2d2::PooledConnection;
use tokio::sync::oneshot;

use crate::connection::{Managed, Manager};
use crate::lanes::{Lanes, Outcome, Pending, Ticket};
use crate::log::Log;
use crate::transaction::{Kind, alone, begin, begin_piece, commit, keep_piece, undo_piece};
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

struct Queue {
    waiting: Mutex<VecDeque<Box<dyn Piece>>>,
    /// Writes that wait or are being done.
    busy: AtomicUsize,
    committed: Mutex<Vec<Committed>>,
    flusher: Lanes,
}

/// Writes of one commit that nobody has heard of.
struct Committed {
    pieces: Vec<Box<dyn Piece>>,
    log: Arc<Log>,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self {
            lanes: Lanes::new("database writer", 1),
            queue: Arc::new(Queue {
                waiting: Mutex::default(),
                busy: AtomicUsize::new(0),
                committed: Mutex::default(),
                flusher: Lanes::new("database flush", 1),
            }),
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

    fn answer_all(&self, pieces: Vec<Box<dyn Piece>>, lost: Option<&DbError>) {
        for piece in pieces {
            self.answer(piece, lost);
        }
    }

    fn commit_next(
        self: Arc<Self>,
        checkout: impl FnOnce() -> Result<PooledConnection<Manager>, DbError>,
    ) {
        let Some(first) = self.next() else { return };
        let checked = checkout().and_then(|managed| managed.check().map(|()| managed));
        let mut managed = match checked {
            Ok(managed) => managed,
            Err(error) => return self.answer(first, Some(&error)),
        };
        if self.waiting().is_empty() {
            return self.commit_alone(managed, first);
        }
        let (pieces, lost) = self.commit_some(&mut managed, first);
        let log = managed.log.clone();
        drop(managed);
        match (lost, log) {
            (None, Some(log)) => self.flush(Committed { pieces, log }),
            (lost, _) => self.answer_all(pieces, lost.as_ref()),
        }
    }

    /// Has a commit flushed before it is told of: beside the next one when somebody waits for that, else here.
    fn flush(self: Arc<Self>, committed: Committed) {
        self.committed().push(committed);
        let queue = Arc::clone(&self);
        let alone = self.waiting().is_empty();
        if alone || !self.flusher.run(move || queue.flush_committed()) {
            self.flush_committed();
        }
    }

    fn committed(&self) -> std::sync::MutexGuard<'_, Vec<Committed>> {
        self.committed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Flushes what was committed until now, which may be nothing any more, and tells of it.
    fn flush_committed(&self) {
        let all = std::mem::take(&mut *self.committed());
        // The last one's log has the others too, or theirs was deleted, which SQLite does not do before it needs it no more.
        let lost = all.last().and_then(|committed| committed.log.flush().err());
        for Committed { pieces, .. } in all {
            self.answer_all(pieces, lost.as_ref());
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
        match commit(managed) {
            Ok(()) => {
                managed.in_transaction = false;
                (pieces, None)
            }
            Err(error) => (pieces, Some(error.into())),
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
        let outcome = alone(managed, self.kind, work);
        self.state = State::Done((outcome, managed.statements() - before));
    }

    fn run_among(&mut self, managed: &mut Managed) -> QueryResult<()> {
        let Some(work) = self.take() else {
            return Ok(());
        };
        let before = managed.statements();
        // A database that undid everything by itself, as it may when the disk is full, knows no savepoint any more.
        begin_piece(&mut managed.db)?;
        let outcome = work(&mut managed.db);
        let ended = match (self.kind, &outcome) {
            (Kind::Transaction, Err(_)) => undo_piece(&mut managed.db),
            _ => keep_piece(&mut managed.db),
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
