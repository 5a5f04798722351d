#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use chrono::TimeDelta;

use super::*;

const SID: &str = "0b9c1f4e-8a3d-4b52-9a39-1f8d2c7e6a01";

fn ada() -> UserId {
    "1".parse().unwrap()
}

/// Returns a cache whose feed has just been read.
fn alive() -> Memory {
    let memory = Memory::new(true);
    memory.caught_up_at(ClockReading::now());
    memory
}

fn remember(memory: &Memory, ticket: CacheTicket) {
    let (session, account) = (SessionState::sample(), AccountRow::sample(ada()));
    memory.remember(ticket, SID, session, &Arc::new(account));
    memory.insert_teams(ticket, ada(), &Arc::from([]));
    let now = DateTime::UNIX_EPOCH;
    let times = (now, now + TimeDelta::seconds(60));
    for what in ASKED {
        memory.insert_answer(ticket, question(what), b"yes".to_vec(), times);
    }
}

const ASKED: [What; 2] = [
    What::Validation { with_teams: false },
    What::Introspection { sees_all: false },
];

fn question(what: What) -> Question {
    let hash = [1; 32];
    Question { hash, what }
}

/// Whether a response of each kind is cached.
fn answers(memory: &Memory, seconds: i64) -> bool {
    let now = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
    let ticket = memory.ticket().unwrap();
    let [validation, introspection] =
        ASKED.map(|what| memory.answer(ticket, &question(what), now).is_some());
    assert_eq!(validation, introspection);
    validation
}

#[test]
fn a_response_is_cached_for_its_lifetime_until_anything_changes() {
    for subject in [
        ChangeSubject::Session(SID.to_owned()),
        ChangeSubject::User("2".parse().unwrap()),
        ChangeSubject::Teams,
        ChangeSubject::Keys,
        ChangeSubject::Client("app".to_owned()),
    ] {
        let memory = alive();
        remember(&memory, memory.ticket().unwrap());
        assert!(answers(&memory, 0) && answers(&memory, 59));
        assert!(!answers(&memory, -1) && !answers(&memory, 60));
        let ticket = memory.ticket().unwrap();
        for other in [
            What::Validation { with_teams: true },
            What::Introspection { sees_all: true },
        ] {
            let answer = memory.answer(ticket, &question(other), DateTime::UNIX_EPOCH);
            assert!(answer.is_none());
        }
        memory.forget(std::slice::from_ref(&subject));
        assert!(!answers(&memory, 0), "{subject:?}");
        remember(&memory, ticket);
        assert!(!answers(&memory, 0), "read before the change");
    }
}

#[test]
fn cached_introspections_are_keyed_by_token_client_and_permission() {
    let client = OAuthClient::sample();
    let mut questions = vec![
        Question::validation("token", true),
        Question::validation("token", false),
        Question::introspection("token", &client),
        Question::introspection("other", &client),
    ];
    let mut other = client.clone();
    other.may_introspect_any = true;
    questions.push(Question::introspection("token", &other));
    other.id.push('2');
    questions.push(Question::introspection("token", &other));
    other.may_introspect_any = false;
    questions.push(Question::introspection("token", &other));
    let different: HashSet<&Question> = questions.iter().collect();
    assert_eq!(different.len(), questions.len());
}

/// Whether the session, the account and its teams are cached.
fn known(memory: &Memory) -> (bool, bool, bool) {
    let ticket = memory.ticket().unwrap();
    (
        memory.session(ticket, SID).is_some(),
        memory.user(ticket, ada()).is_some(),
        memory.teams(ticket, ada()).is_some(),
    )
}

#[test]
fn a_cached_value_is_kept_until_its_subject_changes() {
    for (subject, left) in [
        (ChangeSubject::Session(SID.to_owned()), (false, true, true)),
        (ChangeSubject::User(ada()), (true, false, false)),
        (ChangeSubject::Teams, (true, true, false)),
        (ChangeSubject::Keys, (true, true, true)),
        (
            ChangeSubject::Session("c2f7a5f0-52f1-4c41-8f53-0d9f1c0b7e02".to_owned()),
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
fn a_value_read_before_a_change_is_never_cached() {
    // A change of the same subject, of another one, of everything, and an outage: the row may be older than any of them.
    let changes: [fn(&Memory); 4] = [
        |memory| memory.forget(&[ChangeSubject::Session(SID.to_owned())]),
        |memory| memory.forget(&[ChangeSubject::Teams]),
        Memory::forget_all,
        |memory| {
            memory.feed_went_down();
            memory.caught_up_at(ClockReading::now());
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
fn emptying_the_cache_removes_everything_even_within_one_clock_tick() {
    let memory = alive();
    for _ in 0..2_000 {
        memory.caught_up_at(ClockReading::now());
        remember(&memory, memory.ticket().unwrap());
        memory.forget_all();
        assert_eq!(known(&memory), (false, false, false));
    }
    remember(&memory, memory.ticket().unwrap());
    memory.forget(&[ChangeSubject::Teams]);
    remember(&memory, memory.ticket().unwrap());
    assert_eq!(known(&memory), (true, true, true));
}

#[test]
fn a_cache_is_not_used_while_its_feed_is_silent_or_down() {
    let memory = Memory::new(true);
    assert!(memory.ticket().is_none());
    memory.caught_up_at(ClockReading::now());
    remember(&memory, memory.ticket().unwrap());
    memory.feed_went_down();
    assert!(memory.ticket().is_none());
    memory.caught_up_at(ClockReading::now());
    assert_eq!(known(&memory), (false, false, false));

    let switched_off = Memory::new(false);
    switched_off.caught_up_at(ClockReading::now());
    assert!(switched_off.ticket().is_none());
}

#[test]
fn each_change_of_the_signing_keys_starts_a_new_generation() {
    let memory = alive();
    let before = memory.keys_generation();
    memory.forget(&[ChangeSubject::Keys]);
    assert_eq!(memory.keys_generation(), before + 1);
    memory.forget_all();
    assert_eq!(memory.keys_generation(), before + 2);
}

#[test]
fn readers_concurrent_with_a_revocation_leave_no_earlier_value_in_the_cache() {
    let memory = alive();
    // The state in the database: revoked or not.
    let revoked = AtomicBool::new(false);
    for _ in 0..200 {
        memory.forget_all();
        memory.caught_up_at(ClockReading::now());
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
            memory.forget(&[ChangeSubject::Session(SID.to_owned())]);
        });
        assert!(
            !known(&memory).0,
            "a row from before the revocation was kept"
        );
    }
}
