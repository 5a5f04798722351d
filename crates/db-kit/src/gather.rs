//! Reads that come at the same time, done as one. What many ask for at once then costs the database, and the threads
//! between it and the callers, little more than what one asks for; who asks alone waits for nobody.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::lanes::{Lanes, Outcome, Pending, Ticket};
use crate::{Db, DbError, Pool};

/// The most reads done as one.
const MOST: usize = 32;
/// How many such go on at the same time: the others gather meanwhile.
const AT_ONCE: usize = 1;

/// Gives what was asked for, in the order of the keys. More than one when several asked.
type Read<K, V> = fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>;

/// A kind of read that is done for all who ask for it at the same time; see [`Pool::gather`].
pub struct Gather<K, V> {
    pool: Pool,
    lanes: Lanes,
    waiting: Arc<Waiting<K, V>>,
    read: Read<K, V>,
}

struct Waiting<K, V>(Mutex<VecDeque<Asked<K, V>>>);

struct Asked<K, V> {
    key: K,
    ticket: Ticket,
    answer: oneshot::Sender<Answer<V>>,
}

type Answer<V> = Outcome<(Result<V, DbError>, u64)>;

impl<K, V> std::fmt::Debug for Gather<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl<K: Send + 'static, V: Send + 'static> Gather<K, V> {
    pub(crate) fn new(pool: Pool, read: Read<K, V>) -> Self {
        Self {
            pool,
            lanes: Lanes::new("database gather", AT_ONCE),
            waiting: Arc::new(Waiting(Mutex::default())),
            read,
        }
    }

    /// Reads what `key` asks for: not before it is called, and with all that was committed until then.
    ///
    /// # Errors
    /// As [`Pool::read`]. What only one of those who ask together is to blame for fails that one.
    pub async fn read(&self, key: K) -> Result<V, DbError> {
        let (answer, pending) = Pending::new();
        let ticket = pending.ticket();
        self.waiting.push(Asked {
            key,
            ticket,
            answer,
        });
        let (pool, waiting, read) = (self.pool.clone(), Arc::clone(&self.waiting), self.read);
        // It may find that others took this one with theirs.
        self.lanes.run(move || waiting.read_some(&pool, read));
        self.pool.outcome(pending).await
    }
}

impl<K, V> Waiting<K, V> {
    fn push(&self, asked: Asked<K, V>) {
        self.queue().push_back(asked);
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Asked<K, V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_some(&self, pool: &Pool, read: Read<K, V>) {
        let asked: Vec<_> = {
            let mut queue = self.queue();
            let most = queue.len().min(MOST);
            queue.drain(..most).collect()
        };
        let asked = asked.into_iter().filter(|asked| asked.ticket.begins());
        let (keys, answers): (Vec<K>, Vec<_>) =
            asked.map(|asked| (asked.key, asked.answer)).unzip();
        if keys.is_empty() {
            return;
        }
        let work = || pool.counting(|conn| all(&mut conn.db, &keys, read));
        let (results, mut statements) = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => done,
            Ok(Err(error)) => (each(&keys, &error), 0),
            Err(payload) => return fail(payload, answers),
        };
        for (result, answer) in results.into_iter().zip(answers) {
            // Whoever asked may have gone. What it cost is told once.
            let _ = answer.send(Ok((result, std::mem::take(&mut statements))));
        }
    }
}

/// One result for each key.
fn all<K, V>(db: &mut Db, keys: &[K], read: Read<K, V>) -> Vec<Result<V, DbError>> {
    match read(db, keys) {
        Ok(values) if values.len() == keys.len() => values.into_iter().map(Ok).collect(),
        // Whose fault it is nobody knows.
        Err(DbError::Query(_)) if keys.len() > 1 => {
            let alone = keys.iter().map(std::slice::from_ref);
            alone.flat_map(|key| all(db, key, read)).collect()
        }
        Ok(values) => {
            let reason = format!("{} of {} were read", values.len(), keys.len());
            each(keys, &DbError::Unreachable(reason))
        }
        Err(error @ DbError::Query(_)) => vec![Err(error)],
        Err(error) => each(keys, &error),
    }
}

fn each<K, V>(keys: &[K], error: &DbError) -> Vec<Result<V, DbError>> {
    keys.iter().map(|_| Err(error.again())).collect()
}

/// Has the panic go on where it was called, once.
fn fail<V>(payload: Box<dyn Any + Send>, answers: Vec<oneshot::Sender<Answer<V>>>) {
    let mut payload = Some(payload);
    for answer in answers {
        let beside = DbError::Unreachable("a read beside it failed".to_owned());
        let _ = answer.send(match payload.take() {
            Some(payload) => Err(payload),
            None => Ok((Err(beside), 0)),
        });
    }
}
