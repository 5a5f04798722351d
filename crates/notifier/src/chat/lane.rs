//! Plans that are told before they are written down.
//!
//! A plan whose hook is expected to take it within a moment stays with the broker until the hook's next message has been
//! posted; it is then written down once, as delivered. Whatever holds that up for longer than [`HELD`] has it written
//! down as everything else is, and the broker forgets it then: nobody has to know which of the two came first, for the
//! database settles it. Only who has the hook's lease posts, and only what is not written down yet.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::{Broker, BrokerState};
use chrono::{NaiveDateTime, TimeDelta};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::arrivals::{Arrival, Word, delivery};
use super::model::{DestinationRow, Kind, NewDelivery};
use super::moves::Tally;
use crate::config::ChatConfig;

/// How long a plan is held at most.
const HELD: Duration = Duration::from_secs(2);

/// The most plans that are held of one hook: what its next message can tell of.
const OF_A_HOOK: usize = super::moves::DIGEST;

/// The most plans that are held together.
const TOGETHER: usize = 20_000;

/// The most bytes of what people wrote that are held together.
const BYTES: usize = 16 << 20;

/// How soon a hook that somebody else has is asked for again.
const ASK_AGAIN: TimeDelta = TimeDelta::milliseconds(20);

/// The most hooks that are remembered.
const HOOKS: usize = 5_000;

/// Where plans are held. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Lane(Option<Arc<Lanes>>);

struct Lanes {
    broker: Broker,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    closed: bool,
    count: usize,
    bytes: usize,
    /// Those that this process has seen taking messages.
    hooks: HashMap<i64, Hook>,
}

struct Hook {
    turn: Turn,
    /// Not to be asked for before: somebody else has it.
    ask_at: NaiveDateTime,
    /// By their ids.
    held: BTreeMap<String, Held>,
}

struct Held {
    row: Arc<NewDelivery>,
    written: Vec<oneshot::Sender<()>>,
}

/// A hook that takes messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// No message before.
    pub(super) free_at: NaiveDateTime,
    pub(super) revision: i64,
    /// This process is posting to it, and goes on when that is over.
    pub(super) ours: bool,
}

impl Inner {
    fn shut(&mut self, project_id: i64) {
        let gone = self.hooks.remove(&project_id);
        for held in gone.into_iter().flat_map(|hook| hook.held.into_values()) {
            self.forget(&held);
        }
    }

    /// Counts what is held no longer.
    fn forget(&mut self, held: &Held) {
        self.count -= 1;
        self.bytes -= held.bytes();
    }
}

impl Hook {
    /// When it is to be asked for, if something is held for it.
    fn due_at(&self) -> Option<NaiveDateTime> {
        let waits = !self.held.is_empty() && !self.turn.ours;
        waits.then(|| self.turn.free_at.max(self.ask_at))
    }
}

impl Held {
    fn bytes(&self) -> usize {
        self.row.payload.as_ref().map_or(0, |payload| payload.len())
    }
}

/// Tells those who wait that something is written down; dropped untold, that they have to see to it themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Receipts(Arc<Mutex<Vec<oneshot::Sender<()>>>>);

impl Receipts {
    pub(super) fn written(&self) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in waiting.drain(..) {
            // Nobody waits any more.
            let _ = one.send(());
        }
    }
}

impl Lane {
    /// Without a broker that keeps what it is not told to forget nothing is ever held.
    pub(super) fn new(broker: Option<Broker>) -> Self {
        Self(broker.map(|broker| {
            let inner = Mutex::default();
            Arc::new(Lanes { broker, inner })
        }))
    }

    /// Whether what the broker has can come now.
    pub(super) fn is_fed(&self) -> bool {
        let broker = self.0.as_ref().map(|lanes| lanes.broker.state());
        broker != Some(BrokerState::Disconnected)
    }

    /// Whether anything is ever held.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Holds a plan, if its hook is expected to take it soon; the answer comes once it is written down.
    pub(super) fn hold(
        &self,
        arrival: &Arrival,
        now: NaiveDateTime,
        config: ChatConfig,
    ) -> Option<oneshot::Receiver<()>> {
        let Word::Notice(notice) = &arrival.word else {
            return None;
        };
        if notice.kind != Kind::Plan || notice.skipped.is_some() {
            return None;
        }
        let mut inner = self.inner()?;
        let bytes = inner.bytes + notice.payload.len();
        if inner.closed || inner.count >= TOGETHER || bytes > BYTES {
            return None;
        }
        let soon = now + TimeDelta::from_std(HELD).ok()?;
        let hook = inner.hooks.get_mut(&notice.project_id)?;
        let takes = hook.turn.free_at < soon && notice.revision <= hook.turn.revision;
        if hook.held.len() >= OF_A_HOOK || !takes {
            return None;
        }
        let (written, answer) = oneshot::channel();
        if let Some(held) = hook.held.get_mut(&arrival.id.to_string()) {
            held.written.push(written);
            return Some(answer);
        }
        let (request_id, notice) = (arrival.request_id.clone(), notice.clone());
        let row = Arc::new(delivery(arrival.id, request_id, notice, now, config));
        let written = vec![written];
        hook.held
            .insert(row.event_id.clone(), Held { row, written });
        inner.count += 1;
        inner.bytes = bytes;
        Some(answer)
    }

    /// When the first of the hooks may be called of which something is held.
    pub(super) fn next_due(&self) -> Option<NaiveDateTime> {
        self.inner()?.hooks.values().filter_map(Hook::due_at).min()
    }

    /// Hooks that may be called of which something is held, so many at most, those first that could be called first.
    pub(super) fn due(&self, now: NaiveDateTime, limit: i64) -> BTreeSet<i64> {
        let Some(inner) = self.inner() else {
            return BTreeSet::new();
        };
        let due = inner.hooks.iter();
        let due = due.filter_map(|(id, hook)| Some((hook.due_at()?, *id)));
        let mut due: Vec<_> = due.filter(|(due_at, _)| *due_at <= now).collect();
        due.sort_unstable();
        due.truncate(usize::try_from(limit).unwrap_or_default());
        due.into_iter().map(|(_, id)| id).collect()
    }

    /// What is held of these hooks and may be told now, each hook's in the order of their ids. It stays; what nobody waits
    /// for any more is dropped.
    pub(super) fn ready(
        &self,
        hooks: &[&DestinationRow],
        now: NaiveDateTime,
    ) -> Vec<Arc<NewDelivery>> {
        let Some(mut inner) = self.inner() else {
            return Vec::new();
        };
        let mut ready = Vec::new();
        for hook in hooks {
            let Some(known) = inner.hooks.get_mut(&hook.project_id) else {
                continue;
            };
            let is_waited_for = |held: &Held| held.written.iter().any(|one| !one.is_closed());
            let dropped = known.held.extract_if(.., |_, held| !is_waited_for(held));
            let dropped: Vec<_> = dropped.collect();
            let rows = known.held.values().map(|held| &held.row);
            let rows = rows.filter(|row| row.revision <= hook.revision && row.give_up_at > now);
            ready.extend(rows.cloned());
            dropped.iter().for_each(|(_, held)| inner.forget(held));
        }
        ready
    }

    /// Takes plans out: whoever has the receipts says when they are written down. Those that are not held any more are
    /// being written down by others.
    pub(super) fn take<'i>(
        &self,
        project_id: i64,
        event_ids: impl Iterator<Item = &'i str>,
    ) -> Receipts {
        let mut taken = Vec::new();
        if let Some(mut inner) = self.inner() {
            if let Some(hook) = inner.hooks.get_mut(&project_id) {
                taken.extend(event_ids.filter_map(|id| hook.held.remove(id)));
            }
            taken.iter().for_each(|held| inner.forget(held));
        }
        let receipts = taken.into_iter().flat_map(|held| held.written).collect();
        Receipts(Arc::new(Mutex::new(receipts)))
    }

    /// Goes by what a transaction found of hooks: what comes for one that takes messages is held from now on, and who waits
    /// for one that does not has it written down.
    pub(super) fn heed(&self, tally: &Tally, now: NaiveDateTime) {
        for (project_id, event_id) in &tally.written {
            let held = self.take(*project_id, std::iter::once(event_id.as_str()));
            held.written();
        }
        let Some(mut inner) = self.inner() else {
            return;
        };
        for project_id in &tally.taken {
            if let Some(hook) = inner.hooks.get_mut(project_id) {
                hook.ask_at = now + ASK_AGAIN;
            }
        }
        for (project_id, turn) in &tally.turns {
            let turn = turn.filter(|_| !tally.behind.contains(project_id));
            match (turn, inner.hooks.get_mut(project_id)) {
                (Some(turn), Some(hook)) => hook.turn = turn,
                (Some(turn), None) => {
                    if inner.hooks.len() >= HOOKS {
                        inner.hooks.retain(|_, hook| !hook.held.is_empty());
                    }
                    let hook = Hook {
                        turn,
                        ask_at: turn.free_at,
                        held: BTreeMap::new(),
                    };
                    inner.hooks.insert(*project_id, hook);
                }
                (None, _) => inner.shut(*project_id),
            }
        }
    }

    /// Holds nothing of these hooks any more, until one of them is seen to take messages again.
    pub(super) fn shut(&self, projects: impl Iterator<Item = i64>) {
        if let Some(mut inner) = self.inner() {
            projects.for_each(|project_id| inner.shut(project_id));
        }
    }

    /// Holds nothing any more, from now on: what is held is written down.
    pub(crate) fn close(&self) {
        if let Some(mut inner) = self.inner() {
            *inner = Inner {
                closed: true,
                ..Inner::default()
            };
        }
    }

    fn inner(&self) -> Option<MutexGuard<'_, Inner>> {
        let lanes = self.0.as_ref()?;
        Some(lanes.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Rows are what people wrote.
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

/// Waits until what is held `since` then is written down, for [`HELD`] at most, and gives what is not by then.
pub(super) async fn unwritten(
    since: Instant,
    mut held: Vec<(Arrival, oneshot::Receiver<()>)>,
) -> Vec<Arrival> {
    let mut left = Vec::new();
    let all = async {
        while let Some((arrival, written)) = held.pop() {
            // Unless it is told: also when the time runs out while it is waited for.
            left.push(arrival);
            if written.await.is_ok() {
                left.pop();
            }
        }
    };
    // One timer for all of them.
    if timeout_at(since + HELD, all).await.is_err() {
        left.extend(
            held.into_iter().filter_map(|(arrival, mut written)| {
                written.try_recv().is_err().then_some(arrival)
            }),
        );
    }
    left
}

#[cfg(test)]
#[path = "lane_tests.rs"]
pub(super) mod tests;
