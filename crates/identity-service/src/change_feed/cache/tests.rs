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
fn alive() -> IdentityCache {
    let cache = IdentityCache::new(true);
    cache.caught_up_at(ClockReading::now());
    cache
}

fn remember(cache: &IdentityCache, ticket: CacheTicket) {
    let (session, account) = (SessionState::sample(), AccountRow::sample(ada()));
    cache.insert_session(ticket, SID, session, &Arc::new(account));
    cache.insert_teams(ticket, ada(), &Arc::from([]));
    let now = DateTime::UNIX_EPOCH;
    let times = (now, now + TimeDelta::seconds(60));
    for kind in KINDS {
        cache.insert_response(ticket, key(kind), b"yes".to_vec(), times);
    }
}

const KINDS: [ResponseKind; 2] = [
    ResponseKind::Validation { with_teams: false },
    ResponseKind::Introspection { sees_all: false },
];

fn key(kind: ResponseKind) -> ResponseKey {
    let hash = [1; 32];
    ResponseKey { hash, kind }
}

/// Whether a response of each kind is cached.
fn answers(cache: &IdentityCache, seconds: i64) -> bool {
    let now = DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
    let ticket = cache.ticket().unwrap();
    let [validation, introspection] =
        KINDS.map(|kind| cache.find_response(ticket, &key(kind), now).is_some());
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
        let cache = alive();
        remember(&cache, cache.ticket().unwrap());
        assert!(answers(&cache, 0) && answers(&cache, 59));
        assert!(!answers(&cache, -1) && !answers(&cache, 60));
        let ticket = cache.ticket().unwrap();
        for other in [
            ResponseKind::Validation { with_teams: true },
            ResponseKind::Introspection { sees_all: true },
        ] {
            let answer = cache.find_response(ticket, &key(other), DateTime::UNIX_EPOCH);
            assert!(answer.is_none());
        }
        cache.remove(std::slice::from_ref(&subject));
        assert!(!answers(&cache, 0), "{subject:?}");
        remember(&cache, ticket);
        assert!(!answers(&cache, 0), "read before the change");
    }
}

#[test]
fn cached_introspections_are_keyed_by_token_client_and_permission() {
    let client = OAuthClient::sample();
    let mut keys = vec![
        ResponseKey::validation("token", true),
        ResponseKey::validation("token", false),
        ResponseKey::introspection("token", &client),
        ResponseKey::introspection("other", &client),
    ];
    let mut other = client.clone();
    other.may_introspect_any = true;
    keys.push(ResponseKey::introspection("token", &other));
    other.id.push('2');
    keys.push(ResponseKey::introspection("token", &other));
    other.may_introspect_any = false;
    keys.push(ResponseKey::introspection("token", &other));
    let different: HashSet<&ResponseKey> = keys.iter().collect();
    assert_eq!(different.len(), keys.len());
}

/// Whether the session, the account and its teams are cached.
fn known(cache: &IdentityCache) -> (bool, bool, bool) {
    let ticket = cache.ticket().unwrap();
    (
        cache.session(ticket, SID).is_some(),
        cache.user(ticket, ada()).is_some(),
        cache.teams(ticket, ada()).is_some(),
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
        let cache = alive();
        remember(&cache, cache.ticket().unwrap());
        assert_eq!(known(&cache), (true, true, true));
        cache.remove(std::slice::from_ref(&subject));
        assert_eq!(known(&cache), left, "{subject:?}");
    }
}

#[test]
fn a_value_read_before_a_change_is_never_cached() {
    // A change of the same subject, of another one, of everything, and an outage: the row may be older than any of them.
    let changes: [fn(&IdentityCache); 4] = [
        |cache| cache.remove(&[ChangeSubject::Session(SID.to_owned())]),
        |cache| cache.remove(&[ChangeSubject::Teams]),
        IdentityCache::forget_all,
        |cache| {
            cache.feed_went_down();
            cache.caught_up_at(ClockReading::now());
        },
    ];
    for change in changes {
        let cache = alive();
        let ticket = cache.ticket().unwrap();
        change(&cache);
        remember(&cache, ticket);
        assert_eq!(known(&cache), (false, false, false));
        remember(&cache, cache.ticket().unwrap());
        assert_eq!(known(&cache), (true, true, true));
    }
}

#[test]
fn emptying_the_cache_removes_everything_even_within_one_clock_tick() {
    let cache = alive();
    for _ in 0..2_000 {
        cache.caught_up_at(ClockReading::now());
        remember(&cache, cache.ticket().unwrap());
        cache.forget_all();
        assert_eq!(known(&cache), (false, false, false));
    }
    remember(&cache, cache.ticket().unwrap());
    cache.remove(&[ChangeSubject::Teams]);
    remember(&cache, cache.ticket().unwrap());
    assert_eq!(known(&cache), (true, true, true));
}

#[test]
fn a_cache_is_not_used_while_its_feed_is_silent_or_down() {
    let cache = IdentityCache::new(true);
    assert!(cache.ticket().is_none());
    cache.caught_up_at(ClockReading::now());
    remember(&cache, cache.ticket().unwrap());
    cache.feed_went_down();
    assert!(cache.ticket().is_none());
    cache.caught_up_at(ClockReading::now());
    assert_eq!(known(&cache), (false, false, false));

    let switched_off = IdentityCache::new(false);
    switched_off.caught_up_at(ClockReading::now());
    assert!(switched_off.ticket().is_none());
}

#[test]
fn each_change_of_the_signing_keys_starts_a_new_generation() {
    let cache = alive();
    let before = cache.keys_generation();
    cache.remove(&[ChangeSubject::Keys]);
    assert_eq!(cache.keys_generation(), before + 1);
    cache.forget_all();
    assert_eq!(cache.keys_generation(), before + 2);
}

#[test]
fn readers_concurrent_with_a_revocation_leave_no_earlier_value_in_the_cache() {
    let cache = alive();
    // The state in the database: revoked or not.
    let revoked = AtomicBool::new(false);
    for _ in 0..200 {
        cache.forget_all();
        cache.caught_up_at(ClockReading::now());
        revoked.store(false, Ordering::SeqCst);
        let together = Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    together.wait();
                    let ticket = cache.ticket().unwrap();
                    if !revoked.load(Ordering::SeqCst) {
                        remember(&cache, ticket);
                    }
                });
            }
            together.wait();
            revoked.store(true, Ordering::SeqCst);
            cache.remove(&[ChangeSubject::Session(SID.to_owned())]);
        });
        assert!(
            !known(&cache).0,
            "a row from before the revocation was kept"
        );
    }
}
