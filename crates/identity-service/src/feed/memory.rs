use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use auth_types::UserId;
use auth_types::wire::TeamMembership;
use moka::Equivalent;

use super::Subject;
use super::alive::{Alive, Moment};
use crate::accounts::model::AccountRow;
use crate::sessions::model::SessionState;

/// Nothing is remembered for longer, whatever the feed says.
const LIFE: Duration = Duration::from_secs(30);
/// Sign-ins that are remembered; about 5 MiB when full.
const SESSIONS: u64 = 20_000;
/// Accounts, and accounts' teams, that are remembered.
const USERS: u64 = 10_000;

/// What this process remembers of sessions, accounts and memberships while the feed lives.
pub(crate) struct Memory {
    sessions: Store<String, Arc<SessionState>>,
    users: Store<UserId, Arc<AccountRow>>,
    teams: Store<UserId, Arc<[TeamMembership]>>,
    /// Steps up with every change that is seen. Who inserts holds it still.
    epoch: RwLock<u64>,
    /// Steps up when the signing keys are to be read again.
    keys: AtomicU64,
    alive: Alive,
    enabled: bool,
}

/// Permission to remember what is read from the database from now on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket(u64);

impl Memory {
    /// An empty memory; one that is not enabled stays so.
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            sessions: Store::new(SESSIONS),
            users: Store::new(USERS),
            teams: Store::new(USERS),
            epoch: RwLock::default(),
            keys: AtomicU64::new(0),
            alive: Alive::new(),
        }
    }

    /// Whether what is remembered may be used now; if so, a ticket for what has to be read.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        let usable = self.enabled && self.alive.at(Moment::now());
        usable.then(|| Ticket(*self.epoch.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Whether a change would be heard of now.
    pub(crate) fn hears(&self) -> bool {
        self.alive.at(Moment::now())
    }

    pub(crate) fn session(&self, _: Ticket, sid: &str) -> Option<Arc<SessionState>> {
        self.sessions.get(sid)
    }

    pub(crate) fn user(&self, _: Ticket, id: UserId) -> Option<Arc<AccountRow>> {
        self.users.get(&id)
    }

    pub(crate) fn teams(&self, _: Ticket, id: UserId) -> Option<Arc<[TeamMembership]>> {
        self.teams.get(&id)
    }

    /// Remembers a session and its account, unless something changed since the ticket was given: the
    /// row may have been read before that.
    pub(crate) fn remember(
        &self,
        ticket: Ticket,
        sid: &str,
        session: &Arc<SessionState>,
        account: &Arc<AccountRow>,
    ) {
        self.if_unchanged(ticket, || {
            self.sessions.insert(sid.to_owned(), Arc::clone(session));
            self.users.insert(account.id, Arc::clone(account));
        });
    }

    /// Remembers an account's teams, under the same condition.
    pub(crate) fn remember_teams(&self, ticket: Ticket, id: UserId, teams: &Arc<[TeamMembership]>) {
        self.if_unchanged(ticket, || self.teams.insert(id, Arc::clone(teams)));
    }

    fn if_unchanged(&self, ticket: Ticket, insert: impl FnOnce()) {
        let epoch = self.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *epoch == ticket.0 {
            insert();
        }
    }

    /// Forgets what has changed.
    pub(crate) fn forget(&self, subjects: &[Subject]) {
        if subjects.is_empty() {
            return;
        }
        let mut epoch = self.epoch.write().unwrap_or_else(PoisonError::into_inner);
        *epoch += 1;
        for subject in subjects {
            match subject {
                Subject::Session(sid) => self.sessions.forget(sid),
                Subject::User(id) => {
                    self.users.forget(id);
                    self.teams.forget(id);
                }
                Subject::Teams => self.teams.forget_all(),
                Subject::Keys => drop(self.keys.fetch_add(1, Ordering::AcqRel)),
            }
        }
    }

    /// Forgets everything.
    pub(super) fn forget_all(&self) {
        let mut epoch = self.epoch.write().unwrap_or_else(PoisonError::into_inner);
        *epoch += 1;
        self.sessions.forget_all();
        self.users.forget_all();
        self.teams.forget_all();
        self.keys.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts up each time the signing keys have changed.
    pub(crate) fn keys_generation(&self) -> u64 {
        self.keys.load(Ordering::Acquire)
    }

    /// Everything that was committed before `moment` has been seen.
    pub(super) fn caught_up_at(&self, moment: Moment) {
        self.alive.heard_at(moment);
    }

    /// Nothing new will be heard until further notice.
    pub(super) fn feed_is_down(&self) {
        self.alive.is_down();
        self.forget_all();
    }
}

/// A bounded cache that can be emptied at once. The library's own emptying goes by the clock, and spares
/// what was inserted at the very tick of it.
struct Store<K, V> {
    cache: moka::sync::Cache<K, (u64, V)>,
    /// Counts the emptyings; what was inserted before the last one is not there any more.
    round: AtomicU64,
}

impl<K, V> Store<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    fn new(capacity: u64) -> Self {
        Self {
            cache: moka::sync::Cache::builder()
                .max_capacity(capacity)
                .time_to_live(LIFE)
                .build(),
            round: AtomicU64::new(0),
        }
    }

    fn get<Q: Equivalent<K> + Hash + ?Sized>(&self, key: &Q) -> Option<V> {
        let (round, value) = self.cache.get(key)?;
        (round == self.round.load(Ordering::Acquire)).then_some(value)
    }

    fn insert(&self, key: K, value: V) {
        let round = self.round.load(Ordering::Acquire);
        self.cache.insert(key, (round, value));
    }

    fn forget<Q: Equivalent<K> + Hash + ?Sized>(&self, key: &Q) {
        self.cache.invalidate(key);
    }

    fn forget_all(&self) {
        self.round.fetch_add(1, Ordering::AcqRel);
        self.cache.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::*;

    const SID: &str = "a session";

    fn ada() -> UserId {
        "1".parse().unwrap()
    }

    /// A memory whose feed has just been heard.
    fn alive() -> Memory {
        let memory = Memory::new(true);
        memory.caught_up_at(Moment::now());
        memory
    }

    fn remember(memory: &Memory, ticket: Ticket) {
        let (session, account) = (SessionState::sample(), AccountRow::sample(ada()));
        memory.remember(ticket, SID, &Arc::new(session), &Arc::new(account));
        memory.remember_teams(ticket, ada(), &Arc::from([]));
    }

    /// Whether the session, the account and its teams are remembered.
    fn known(memory: &Memory) -> (bool, bool, bool) {
        let ticket = memory.ticket().unwrap();
        (
            memory.session(ticket, SID).is_some(),
            memory.user(ticket, ada()).is_some(),
            memory.teams(ticket, ada()).is_some(),
        )
    }

    #[test]
    fn what_is_remembered_is_there_until_its_subject_changes() {
        for (subject, left) in [
            (Subject::Session(SID.to_owned()), (false, true, true)),
            (Subject::User(ada()), (true, false, false)),
            (Subject::Teams, (true, true, false)),
            (Subject::Keys, (true, true, true)),
            (Subject::Session("another".to_owned()), (true, true, true)),
        ] {
            let memory = alive();
            remember(&memory, memory.ticket().unwrap());
            assert_eq!(known(&memory), (true, true, true));
            memory.forget(std::slice::from_ref(&subject));
            assert_eq!(known(&memory), left, "{subject:?}");
        }
    }

    #[test]
    fn a_change_between_the_read_and_the_insert_is_never_remembered() {
        // Of the very subject, of another one, of everything, and an outage: the row may be older than any.
        let changes: [fn(&Memory); 4] = [
            |memory| memory.forget(&[Subject::Session(SID.to_owned())]),
            |memory| memory.forget(&[Subject::Teams]),
            Memory::forget_all,
            |memory| {
                memory.feed_is_down();
                memory.caught_up_at(Moment::now());
            },
        ];
        for change in changes {
            let memory = alive();
            let ticket = memory.ticket().unwrap();
            change(&memory);
            remember(&memory, ticket);
            assert_eq!(known(&memory), (false, false, false));
            remember(&memory, memory.ticket().unwrap());
            assert_eq!(known(&memory), (true, true, true));
        }
    }

    #[test]
    fn nothing_survives_an_emptying_even_at_the_same_tick_of_the_clock() {
        let memory = alive();
        for _ in 0..2_000 {
            memory.caught_up_at(Moment::now());
            remember(&memory, memory.ticket().unwrap());
            memory.forget_all();
            assert_eq!(known(&memory), (false, false, false));
        }
        remember(&memory, memory.ticket().unwrap());
        memory.forget(&[Subject::Teams]);
        remember(&memory, memory.ticket().unwrap());
        assert_eq!(known(&memory), (true, true, true));
    }

    #[test]
    fn a_memory_whose_feed_is_silent_or_down_is_not_asked() {
        let memory = Memory::new(true);
        assert!(memory.ticket().is_none());
        memory.caught_up_at(Moment::now());
        remember(&memory, memory.ticket().unwrap());
        memory.feed_is_down();
        assert!(memory.ticket().is_none());
        memory.caught_up_at(Moment::now());
        assert_eq!(known(&memory), (false, false, false));

        let switched_off = Memory::new(false);
        switched_off.caught_up_at(Moment::now());
        assert!(switched_off.ticket().is_none());
    }

    #[test]
    fn each_change_of_the_signing_keys_counts() {
        let memory = alive();
        let before = memory.keys_generation();
        memory.forget(&[Subject::Keys]);
        assert_eq!(memory.keys_generation(), before + 1);
        memory.forget_all();
        assert_eq!(memory.keys_generation(), before + 2);
    }

    #[test]
    fn readers_that_race_a_revocation_leave_nothing_of_before_it() {
        let memory = alive();
        // What the database says: revoked or not.
        let revoked = AtomicBool::new(false);
        for _ in 0..200 {
            memory.forget_all();
            memory.caught_up_at(Moment::now());
            revoked.store(false, Ordering::SeqCst);
            let together = Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        together.wait();
                        let ticket = memory.ticket().unwrap();
                        if !revoked.load(Ordering::SeqCst) {
                            remember(&memory, ticket);
                        }
                    });
                }
                together.wait();
                revoked.store(true, Ordering::SeqCst);
                memory.forget(&[Subject::Session(SID.to_owned())]);
            });
            assert!(!known(&memory).0, "a row of before the revocation was kept");
        }
    }
}
