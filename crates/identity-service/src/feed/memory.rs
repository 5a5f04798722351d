use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::web::Bytes;
use auth_types::UserId;
use auth_types::wire::TeamMembership;
use chrono::{DateTime, Utc};
use service_kit::Remembered;
use uuid::Uuid;

use super::Subject;
use super::alive::{Alive, Moment};
use crate::accounts::model::AccountRow;
use crate::oauth::clients::model::OAuthClient;
use crate::sessions::model::SessionState;

/// Nothing is remembered for longer, whatever the feed says.
const LIFE: Duration = Duration::from_secs(120);
/// Sign-ins that are remembered, some 10 MB when full.
const SESSIONS: usize = 100_000;
/// Accounts that are remembered, some 40 MB when full.
const USERS: usize = 100_000;
/// Accounts' teams that are remembered.
const TEAMS: usize = 20_000;
/// OAuth clients that are remembered: all that there can be.
const CLIENTS: usize = 1_000;
/// Answers that are kept ready: some 10 MB when full.
const ANSWERS: usize = 10_000;

/// What this process remembers of sessions, accounts, memberships and clients while the feed lives.
pub(crate) struct Memory {
    sessions: Remembered<Uuid, SessionState>,
    users: Remembered<UserId, Arc<AccountRow>>,
    teams: Remembered<UserId, Arc<[TeamMembership]>>,
    clients: Remembered<String, Arc<OAuthClient>>,
    answers: Remembered<Question, Arc<Answer>>,
    /// Steps up with every change that is seen. Who inserts holds it still.
    epoch: RwLock<u64>,
    /// Steps up when the signing keys are to be read again.
    keys: AtomicU64,
    alive: Alive,
    enabled: bool,
}

/// Permission to remember what is read from the database from now on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    epoch: u64,
    given_at: Instant,
}

/// A validation, by the token's SHA-256: no token stands in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) token: [u8; 32],
    pub(crate) with_teams: bool,
}

/// The body of a validation's answer.
struct Answer {
    body: Bytes,
    /// What it says is so in this time, unless something changes.
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    epoch: u64,
}

impl Memory {
    /// An empty memory; one that is not enabled stays so.
    pub(crate) fn new(enabled: bool) -> Self {
        Self {
            enabled,
            sessions: Remembered::new(SESSIONS, LIFE),
            users: Remembered::new(USERS, LIFE),
            teams: Remembered::new(TEAMS, LIFE),
            clients: Remembered::new(CLIENTS, LIFE),
            answers: Remembered::new(ANSWERS, LIFE),
            epoch: RwLock::default(),
            keys: AtomicU64::new(0),
            alive: Alive::new(),
        }
    }

    /// Whether what is remembered may be used now; if so, a ticket for what has to be read.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        let now = Moment::now();
        let usable = self.enabled && self.alive.at(now);
        usable.then(|| Ticket {
            epoch: *self.epoch.read().unwrap_or_else(PoisonError::into_inner),
            given_at: now.monotonic,
        })
    }

    /// Whether a change would be heard of now.
    pub(crate) fn hears(&self) -> bool {
        self.alive.at(Moment::now())
    }

    pub(crate) fn session(&self, ticket: Ticket, sid: &str) -> Option<SessionState> {
        let sid = Uuid::try_parse(sid).ok()?;
        self.sessions.get(&sid, ticket.given_at)
    }

    pub(crate) fn user(&self, ticket: Ticket, id: UserId) -> Option<Arc<AccountRow>> {
        self.users.get(&id, ticket.given_at)
    }

    pub(crate) fn teams(&self, ticket: Ticket, id: UserId) -> Option<Arc<[TeamMembership]>> {
        self.teams.get(&id, ticket.given_at)
    }

    pub(crate) fn client(&self, ticket: Ticket, id: &str) -> Option<Arc<OAuthClient>> {
        self.clients.get(id, ticket.given_at)
    }

    /// The answer that was given to the same question, if nothing at all has changed since.
    pub(crate) fn answer(
        &self,
        ticket: Ticket,
        question: &Question,
        now: DateTime<Utc>,
    ) -> Option<Bytes> {
        let answer = self.answers.get(question, ticket.given_at)?;
        let holds = answer.epoch == ticket.epoch && (answer.from..answer.until).contains(&now);
        holds.then(|| answer.body.clone())
    }

    /// Remembers a session and its account, unless something changed since the ticket was given: the
    /// row may have been read before that.
    pub(crate) fn remember(
        &self,
        ticket: Ticket,
        sid: &str,
        session: SessionState,
        account: &Arc<AccountRow>,
    ) {
        self.if_unchanged(ticket, || {
            if let Ok(sid) = Uuid::try_parse(sid) {
                self.sessions.insert(sid, session, ticket.given_at);
            }
            self.users
                .insert(account.id, Arc::clone(account), ticket.given_at);
        });
    }

    /// Remembers an account's teams, under the same condition.
    pub(crate) fn remember_teams(&self, ticket: Ticket, id: UserId, teams: &Arc<[TeamMembership]>) {
        self.if_unchanged(ticket, || {
            self.teams.insert(id, Arc::clone(teams), ticket.given_at);
        });
    }

    /// Remembers an OAuth client, under the same condition.
    pub(crate) fn remember_client(&self, ticket: Ticket, client: &Arc<OAuthClient>) {
        self.if_unchanged(ticket, || {
            let id = client.id.clone();
            self.clients.insert(id, Arc::clone(client), ticket.given_at);
        });
    }

    /// Keeps an answer ready for that time, under the same condition.
    pub(crate) fn remember_answer(
        &self,
        ticket: Ticket,
        question: Question,
        body: Bytes,
        (from, until): (DateTime<Utc>, DateTime<Utc>),
    ) {
        self.if_unchanged(ticket, || {
            let answer = Answer {
                body,
                from,
                until,
                epoch: ticket.epoch,
            };
            self.answers
                .insert(question, Arc::new(answer), ticket.given_at);
        });
    }

    fn if_unchanged(&self, ticket: Ticket, insert: impl FnOnce()) {
        let epoch = self.epoch.read().unwrap_or_else(PoisonError::into_inner);
        if *epoch == ticket.epoch {
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
                Subject::Session(sid) => {
                    if let Ok(sid) = Uuid::try_parse(sid) {
                        self.sessions.forget(&sid);
                    }
                }
                Subject::User(id) => {
                    self.users.forget(id);
                    self.teams.forget(id);
                }
                Subject::Teams => self.teams.forget_all(),
                Subject::Keys => drop(self.keys.fetch_add(1, Ordering::AcqRel)),
                Subject::Client(id) => self.clients.forget(id.as_str()),
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
        self.clients.forget_all();
        self.answers.forget_all();
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use chrono::TimeDelta;

    use super::*;

    const SID: &str = "0b9c1f4e-8a3d-4b52-9a39-1f8d2c7e6a01";

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
        memory.remember(ticket, SID, session, &Arc::new(account));
        memory.remember_teams(ticket, ada(), &Arc::from([]));
        let now = DateTime::UNIX_EPOCH;
        let times = (now, now + TimeDelta::seconds(60));
        memory.remember_answer(ticket, QUESTION, Bytes::from_static(b"yes"), times);
    }

    const QUESTION: Question = Question {
        token: [1; 32],
        with_teams: false,
    };

    fn answers(memory: &Memory, seconds: i64) -> bool {
        let now = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let ticket = memory.ticket().unwrap();
        memory.answer(ticket, &QUESTION, now).is_some()
    }

    #[test]
    fn an_answer_is_ready_in_its_time_until_anything_changes() {
        for subject in [
            Subject::Session(SID.to_owned()),
            Subject::User("2".parse().unwrap()),
            Subject::Teams,
            Subject::Keys,
        ] {
            let memory = alive();
            remember(&memory, memory.ticket().unwrap());
            assert!(answers(&memory, 0) && answers(&memory, 59));
            assert!(!answers(&memory, -1) && !answers(&memory, 60));
            let ticket = memory.ticket().unwrap();
            let other = Question {
                with_teams: true,
                ..QUESTION
            };
            assert!(
                memory
                    .answer(ticket, &other, DateTime::UNIX_EPOCH)
                    .is_none()
            );
            memory.forget(std::slice::from_ref(&subject));
            assert!(!answers(&memory, 0), "{subject:?}");
            remember(&memory, ticket);
            assert!(!answers(&memory, 0), "read before the change");
        }
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
            (
                Subject::Session("c2f7a5f0-52f1-4c41-8f53-0d9f1c0b7e02".to_owned()),
                (true, true, true),
            ),
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
