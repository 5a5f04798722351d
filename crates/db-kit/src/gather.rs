//! Work of one kind that comes at the same time, done as one. What many ask for at once then costs the database, and the
//! threads between it and the callers, little more than what one asks for; who asks alone waits for nobody.

use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::lanes::{Lanes, Outcome, Pending, Ticket};
use crate::transaction::reads;
use crate::{Backend, Db, DbError, Pool};

/// The most that is done as one.
const MOST: usize = 32;
/// How many reads go on at the same time: the others gather meanwhile.
const READS_AT_ONCE: usize = 1;
/// How many writes do: one that waits for a lock does not keep all others waiting.
const WRITES_AT_ONCE: usize = 2;

/// A server that gives work up before this has met a deadlock, not its limit of time.
const SOON: Duration = Duration::from_secs(5);

/// Gives what was asked for, in the order of the keys. More than one when several asked.
type Work<K, V> = fn(&mut Db, &[K]) -> Result<Vec<V>, DbError>;

/// A kind of work that is done for all who ask for it at the same time; see [`Pool::gather`] and [`Pool::gather_writes`].
pub struct Gather<K, V> {
    pool: Pool,
    lanes: Lanes,
    waiting: Arc<Waiting<K, V>>,
    work: Work<K, V>,
    /// Of writes, whose they are.
    owner: Option<Owner<K>>,
}

/// Of those with the same, one at a time.
type Owner<K> = fn(&K) -> i64;

struct Waiting<K, V>(Mutex<VecDeque<Asked<K, V>>>);

struct Together<K, V>(Vec<Asked<K, V>>);

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
    pub(crate) fn of_reads(pool: Pool, work: Work<K, V>) -> Self {
        Self::new(pool, READS_AT_ONCE, work, None)
    }

    pub(crate) fn of_writes(pool: Pool, work: Work<K, V>, owner: Owner<K>) -> Self {
        Self::new(pool, WRITES_AT_ONCE, work, Some(owner))
    }

    fn new(pool: Pool, at_once: usize, work: Work<K, V>, owner: Option<Owner<K>>) -> Self {
        Self {
            pool,
            lanes: Lanes::new("database gather", at_once),
            waiting: Arc::new(Waiting(Mutex::default())),
            work,
            owner,
        }
    }

    /// Does what `key` asks for: not before it is called, and with all that was committed until then.
    ///
    /// # Errors
    /// As [`Pool::read`] and [`Pool::write_one`]. What only one of those who ask together is to blame for fails that one.
    pub async fn run(&self, key: K) -> Result<V, DbError> {
        if self.owner.is_some() && self.pool.backend() == Backend::Sqlite {
            return self.run_alone(key).await;
        }
        let (answer, pending) = Pending::new();
        let ticket = pending.ticket();
        self.waiting.push(Asked {
            key,
            ticket,
            answer,
        });
        let (pool, waiting) = (self.pool.clone(), Arc::clone(&self.waiting));
        let (work, owner) = (self.work, self.owner);
        // It may find that others took this one with theirs.
        self.lanes.run(move || waiting.take(owner).run(&pool, work));
        self.pool.outcome(pending).await
    }

    /// SQLite's writer has those that wait share a commit anyway.
    async fn run_alone(&self, key: K) -> Result<V, DbError> {
        let work = self.work;
        let alone = move |db: &mut Db| work(db, std::slice::from_ref(&key)).and_then(only);
        self.pool.write_tx(alone).await
    }
}

impl<K, V> Waiting<K, V> {
    fn push(&self, asked: Asked<K, V>) {
        self.queue().push_back(asked);
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Asked<K, V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are to be done next, together. Who is left behind has a turn of its own to come.
    fn take(&self, owner: Option<Owner<K>>) -> Together<K, V> {
        let mut queue = self.queue();
        let Some(owner) = owner else {
            let most = queue.len().min(MOST);
            return Together(queue.drain(..most).collect());
        };
        let (mut together, mut others, mut owners) = (Vec::new(), Vec::new(), HashSet::new());
        while together.len() < MOST
            && let Some(asked) = queue.pop_front()
        {
            match owners.insert(owner(&asked.key)) {
                true => together.push(asked),
                false => others.push(asked),
            }
        }
        for asked in others.into_iter().rev() {
            queue.push_front(asked);
        }
        Together(together)
    }
}

impl<K, V> Together<K, V> {
    fn run(self, pool: &Pool, work: Work<K, V>) {
        let mut waiting = self.0;
        let done = pool.counting(|conn| {
            // Not before there is a connection: until then whoever asked may give up.
            let (keys, answers) = begin(std::mem::take(&mut waiting));
            let all = || match keys.len() {
                0 => Vec::new(),
                1 => all(&mut conn.db, &keys, work),
                _ => reads(conn, |db| all(db, &keys, work)),
            };
            (catch_unwind(AssertUnwindSafe(all)), answers)
        });
        let (results, answers, mut statements) = match done {
            Ok(((Ok(results), answers), statements)) => (results, answers, statements),
            Ok(((Err(payload), answers), _)) => return fail(payload, answers),
            Err(error) => {
                let (keys, answers) = begin(waiting);
                (each(&keys, &error), answers, 0)
            }
        };
        for (result, answer) in results.into_iter().zip(answers) {
            // Whoever asked may have gone. What it cost is told once.
            let _ = answer.send(Ok((result, std::mem::take(&mut statements))));
        }
    }
}

/// Those that somebody still waits for; from then on they are under way.
fn begin<K, V>(asked: Vec<Asked<K, V>>) -> (Vec<K>, Vec<oneshot::Sender<Answer<V>>>) {
    let asked = asked.into_iter().filter(|asked| asked.ticket.begins());
    asked.map(|asked| (asked.key, asked.answer)).unzip()
}

/// One result for each key.
fn all<K, V>(db: &mut Db, keys: &[K], work: Work<K, V>) -> Vec<Result<V, DbError>> {
    let begun = Instant::now();
    match work(db, keys) {
        Ok(values) if values.len() == keys.len() => values.into_iter().map(Ok).collect(),
        // Whose fault it is nobody knows.
        Err(error) if keys.len() > 1 && may_be_of_one(&error, begun.elapsed()) => {
            let alone = keys.iter().map(std::slice::from_ref);
            alone.flat_map(|key| all(db, key, work)).collect()
        }
        Ok(values) => {
            let reason = format!("{} of {} were done", values.len(), keys.len());
            each(keys, &DbError::Unreachable(reason))
        }
        Err(error @ DbError::Query(_)) => vec![Err(error)],
        Err(error) => each(keys, &error),
    }
}

/// Whether the others may succeed without one of them. A deadlock is told soon; a server that takes its time does so for all.
fn may_be_of_one(error: &DbError, after: Duration) -> bool {
    match error {
        DbError::Query(_) => true,
        DbError::Busy => after < SOON,
        DbError::Unreachable(_) => false,
    }
}

/// What one key asked for.
fn only<V>(values: Vec<V>) -> Result<V, DbError> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(DbError::Unreachable("not one was done".to_owned())),
    }
}

fn each<K, V>(keys: &[K], error: &DbError) -> Vec<Result<V, DbError>> {
    keys.iter().map(|_| Err(error.again())).collect()
}

/// Has the panic go on where it was called, once.
fn fail<V>(payload: Box<dyn Any + Send>, answers: Vec<oneshot::Sender<Answer<V>>>) {
    let mut payload = Some(payload);
    for answer in answers {
        let beside = DbError::Unreachable("what was done with it failed".to_owned());
        let _ = answer.send(match payload.take() {
            Some(payload) => Err(payload),
            None => Ok((Err(beside), 0)),
        });
    }
}
