//! SQLite's writes. It lets one transaction write at a time and flushes its log at each commit, so one thread does them all,
//! and the writes that wait share the next transaction, as PostgreSQL's share a flush.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use diesel::r2d2::PooledConnection;

use crate::batcher::Batcher;
use crate::connection::{Managed, Manager};
use crate::transaction::{begin, begin_nested, commit, roll_back};
use crate::workers::{Missed, Pending, Ticket};
use crate::{Db, DbError};

/// The most writes of a transaction.
const MOST: usize = 64;

type Checkout = dyn Fn() -> Result<PooledConnection<Manager>, DbError> + Send + Sync;

pub(crate) struct Writer {
    batcher: Batcher<Write>,
}

/// A write and its caller.
struct Write {
    ticket: Ticket,
    run: Box<Run>,
}

/// Runs a write on the connection, or says why there is none.
type Run = dyn FnOnce(Result<&mut Managed, DbError>) -> Ran + Send;

/// A write's result and how many statements it ran.
type Counted<T, E> = (Result<T, E>, u64);

/// A write that ran, in a transaction that is not committed yet.
struct Ran {
    end: End,
    /// Tells the caller, once it is known what became of the transaction.
    answer: Box<dyn FnOnce(Result<(), DbError>) + Send>,
}

/// What is to become of a write's changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Keep,
    Undo,
    /// It panicked: nobody knows in which state it left the connection.
    Panic,
}

impl Writer {
    /// Writes on connections that `checkout` gives.
    pub(crate) fn new(
        checkout: impl Fn() -> Result<PooledConnection<Manager>, DbError> + Send + Sync + 'static,
    ) -> Self {
        let checkout: Box<Checkout> = Box::new(checkout);
        Self {
            batcher: Batcher::new("database writer", 1, take, move |writes| {
                write_all(writes, &checkout);
            }),
        }
    }

    /// Has `work` done in a transaction, which others may share: its changes stay when it gives `Ok`. The result comes with
    /// the number of statements that it ran.
    pub(crate) fn send<T, E, F>(&self, work: F) -> Result<Pending<Counted<T, E>>, Missed>
    where
        F: FnOnce(&mut Db) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        let (answer, pending) = Pending::new();
        let run = move |managed: Result<&mut Managed, DbError>| {
            let ran = catch_unwind(AssertUnwindSafe(|| match managed {
                Ok(managed) => managed.counting(|db| work(db)),
                Err(error) => (Err(error.into()), 0),
            }));
            let end = match &ran {
                Ok((Ok(_), _)) => End::Keep,
                Ok((Err(_), _)) => End::Undo,
                Err(_) => End::Panic,
            };
            let answer = move |committed: Result<(), DbError>| {
                let outcome = match (ran, committed) {
                    (Ok((Ok(_), statements)), Err(error)) => Ok((Err(error.into()), statements)),
                    (Ok(outcome), _) => Ok(outcome),
                    (Err(panic), _) => Err(Missed::Panicked(panic)),
                };
                // The caller may have gone; what is done is done.
                let _ = answer.send(outcome);
            };
            Ran {
                end,
                answer: Box::new(answer),
            }
        };
        self.batcher.send(Write {
            ticket: pending.ticket(),
            run: Box::new(run),
        })?;
        Ok(pending)
    }
}

fn take(waiting: &mut VecDeque<Write>) -> Vec<Write> {
    let most = waiting.len().min(MOST);
    waiting.drain(..most).collect()
}

fn write_all(writes: Vec<Write>, checkout: &Checkout) {
    let begun = writes.into_iter().filter(|write| write.ticket.begin());
    let mut waiting = begun.peekable();
    // Another transaction does what one that was lost left over.
    while waiting.peek().is_some() {
        let mut ran = Vec::new();
        let committed = checkout().and_then(|mut managed| {
            // A connection that is given back with this mark is closed, which rolls back.
            managed.in_transaction = true;
            let done = write_in_transaction(&mut managed, &mut waiting, &mut ran);
            managed.in_transaction = done.is_err();
            done
        });
        if let Err(error) = &committed
            && ran.is_empty()
        {
            // The database is away.
            ran.extend(
                waiting
                    .by_ref()
                    .map(|write| (write.run)(Err(error.again()))),
            );
        }
        for write in ran {
            (write.answer)(committed.as_ref().copied().map_err(DbError::again));
        }
    }
}

/// Does writes, each of which stays or is undone by itself, and commits. On an error all are lost.
fn write_in_transaction(
    managed: &mut Managed,
    writes: &mut impl Iterator<Item = Write>,
    ran: &mut Vec<Ran>,
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
            End::Keep => commit(&mut managed.db)?,
            End::Undo => roll_back(&mut managed.db)?,
            End::Panic => {
                return Err(DbError::Unreachable("a write beside it failed".to_owned()));
            }
        }
    }
    Ok(commit(&mut managed.db)?)
}
