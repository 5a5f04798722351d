//! SQLite's writes. It allows one write transaction at a time and flushes its log at each commit. One thread therefore runs them
//! all, and waiting writes share the next transaction, as those of PostgreSQL share a flush.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use diesel::r2d2::PooledConnection;

use crate::batch_queue::BatchQueue;
use crate::connection::{ConnectionManager, TrackedConnection};
use crate::transaction::{begin, begin_nested, commit, roll_back};
use crate::workers::{JobError, JobHandle, JobState};
use crate::{Db, DbError};

/// The maximum number of writes in one transaction.
const MAX_WRITES: usize = 64;

type Checkout = dyn Fn() -> Result<PooledConnection<ConnectionManager>, DbError> + Send + Sync;

pub(crate) struct Writer {
    queue: BatchQueue<Write>,
}

/// A write that waits in the queue.
struct Write {
    state: JobState,
    run: Box<WriteFn>,
}

/// A function that runs a write on the connection, or fails it with the reason why there is none.
type WriteFn = dyn FnOnce(Result<&mut TrackedConnection, DbError>) -> UncommittedWrite + Send;

/// The result of a write and the number of its statements.
type CountedResult<T, E> = (Result<T, E>, u64);

/// A write that ran in a transaction that is not committed yet.
struct UncommittedWrite {
    end: WriteEnd,
    /// Sends the result to the caller, once the outcome of the transaction is known.
    reply: Box<dyn FnOnce(Result<(), DbError>) + Send>,
}

/// What happens to the changes of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteEnd {
    Commit,
    RollBack,
    /// It panicked, and left the connection in an unknown state.
    Panic,
}

impl Writer {
    /// Creates a writer that gets its connections from `checkout`.
    pub(crate) fn new(
        checkout: impl Fn() -> Result<PooledConnection<ConnectionManager>, DbError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let checkout: Box<Checkout> = Box::new(checkout);
        Self {
            queue: BatchQueue::new("database writer", 1, take_batch, move |writes| {
                write_all(writes, &checkout);
            }),
        }
    }

    /// Queues `work` for a transaction that it may share with others. Its changes are committed if it returns `Ok`. The result
    /// comes with the number of statements.
    pub(crate) fn send<T, E, F>(&self, work: F) -> Result<JobHandle<CountedResult<T, E>>, JobError>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (reply, pending) = JobHandle::new();
        let run = move |managed: Result<&mut TrackedConnection, DbError>| {
            let ran = catch_unwind(AssertUnwindSafe(|| match managed {
                Ok(managed) => managed.counting(|db| work(db)),
                Err(error) => (Err(error.into()), 0),
            }));
            let end = match &ran {
                Ok((Ok(_), _)) => WriteEnd::Commit,
                Ok((Err(_), _)) => WriteEnd::RollBack,
                Err(_) => WriteEnd::Panic,
            };
            let reply = move |committed: Result<(), DbError>| {
                let outcome = match (ran, committed) {
                    (Ok((Ok(_), statements)), Err(error)) => Ok((Err(error.into()), statements)),
                    (Ok(outcome), _) => Ok(outcome),
                    (Err(panic), _) => Err(JobError::Panicked(panic)),
                };
                // The caller may be gone; the work is done all the same.
                let _ = reply.send(outcome);
            };
            UncommittedWrite {
                end,
                reply: Box::new(reply),
            }
        };
        self.queue.send(Write {
            state: pending.state(),
            run: Box::new(run),
        })?;
        Ok(pending)
    }
}

fn take_batch(waiting: &mut VecDeque<Write>) -> Vec<Write> {
    let most = waiting.len().min(MAX_WRITES);
    waiting.drain(..most).collect()
}

fn write_all(writes: Vec<Write>, checkout: &Checkout) {
    let begun = writes.into_iter().filter(|write| write.state.begin());
    let mut waiting = begun.peekable();
    // If a transaction is lost, the next one runs the writes that are left.
    while waiting.peek().is_some() {
        let mut ran = Vec::new();
        let committed = checkout().and_then(|mut managed| {
            // A connection that is returned with this flag set is closed, which rolls back.
            managed.in_transaction = true;
            let done = write_in_transaction(&mut managed, &mut waiting, &mut ran);
            managed.in_transaction = done.is_err();
            done
        });
        if let Err(error) = &committed
            && ran.is_empty()
        {
            // The database is unavailable.
            ran.extend(
                waiting
                    .by_ref()
                    .map(|write| (write.run)(Err(error.again()))),
            );
        }
        for write in ran {
            (write.reply)(committed.as_ref().copied().map_err(DbError::again));
        }
    }
}

/// Runs writes, each of which is committed or rolled back by itself, and commits. An error undoes all of them.
fn write_in_transaction(
    managed: &mut TrackedConnection,
    writes: &mut impl Iterator<Item = Write>,
    ran: &mut Vec<UncommittedWrite>,
) -> Result<(), DbError> {
    begin(&mut managed.db)?;
    for write in writes {
        let begun = begin_nested(&mut managed.db).map_err(DbError::from);
        let done = (write.run)(match &begun {
            Ok(()) => Ok(managed),
            Err(error) => Err(error.again()),
        });
        let end = done.end;
        ran.push(done);
        begun?;
        match end {
            WriteEnd::Commit => commit(&mut managed.db)?,
            WriteEnd::RollBack => roll_back(&mut managed.db)?,
            WriteEnd::Panic => {
                return Err(DbError::Unreachable("another write failed".to_owned()));
            }
        }
    }
    Ok(commit(&mut managed.db)?)
}
