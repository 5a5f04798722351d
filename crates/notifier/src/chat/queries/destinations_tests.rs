#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use chrono::DateTime;
use test_kit::{TestBackend, TestDb};

use super::*;
use crate::chat::model::{Kind, NewDelivery, PENDING};
use crate::chat::queries::insert_deliveries;

/// In milliseconds from now: when a hook may be called, and when it was and is then to be looked at.
struct Case {
    what: &'static str,
    held: bool,
    free: i64,
    due: Option<i64>,
    due_then: i64,
    is_written: bool,
}

const GIVE_UP: i64 = 900_000;

const CASES: [Case; 6] = [
    Case {
        what: "rests, and is looked at when it may be called",
        held: false,
        free: 1_000,
        due: Some(1_000),
        due_then: 1_000,
        is_written: false,
    },
    Case {
        what: "is looked at so soon that somebody may be at it",
        held: false,
        free: 100,
        due: Some(100),
        due_then: 100,
        is_written: true,
    },
    Case {
        what: "has nothing to do",
        held: false,
        free: -5_000,
        due: None,
        due_then: 0,
        is_written: true,
    },
    Case {
        what: "is looked at later than it may be called",
        held: false,
        free: -5_000,
        due: Some(3_600_000),
        due_then: 0,
        is_written: true,
    },
    Case {
        what: "rests for longer than what came can wait",
        held: false,
        free: 86_400_000,
        due: Some(86_400_000),
        due_then: GIVE_UP,
        is_written: true,
    },
    Case {
        what: "is held",
        held: true,
        free: -5_000,
        due: Some(30_000),
        due_then: 30_000,
        is_written: true,
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_is_looked_at_as_soon_as_it_may_be_called_and_one_that_rests_is_not_written_to() {
    if TestBackend::current() == TestBackend::Sqlite {
        // Nothing is written at the same time there, and nothing is left to be looked at.
        return;
    }
    let db = TestDb::fresh("looks", crate::MIGRATIONS).await;
    let now = DateTime::from_timestamp(1_795_000_000, 0)
        .unwrap()
        .naive_utc();
    let at = move |milliseconds| now + TimeDelta::milliseconds(milliseconds);
    let pool = db.pool(1);
    let version = |project| {
        let row = destinations::table.find(project);
        let version = row.select(sql::<Text>("xmin::text || ' ' || xmax::text"));
        pool.read_blocking(|db| Ok::<String, db_kit::DbError>(version.first(db)?))
            .unwrap()
    };
    for (project, case) in (1..).zip(CASES) {
        let (what, held) = (case.what, case.held);
        pool.write_tx(move |db| {
            configure(db, &configured(project), now)?;
            let mut hooks = lock_destinations(db, &BTreeSet::from([project]))?;
            let mut destination = hooks.pop().unwrap();
            destination.free_at = at(case.free);
            let placed = Placed {
                destination,
                lease_owner: held.then(|| "somebody".to_owned()),
                due_at: case.due.map(at),
                sending: None,
            };
            Ok::<_, db_kit::DbError>(place(db, &[placed])?)
        })
        .await
        .unwrap();
        let before = version(project);
        let looked = pool
            .write_tx(move |db| Ok::<_, db_kit::DbError>(look(db, &[project], now, at(GIVE_UP))?))
            .await
            .unwrap();
        assert_eq!(looked, BTreeSet::from([project]), "{what}");
        assert_eq!(version(project) != before, case.is_written, "{what}");
        let due = destinations::table
            .find(project)
            .select(destinations::due_at);
        let due: Option<NaiveDateTime> = pool
            .read_blocking(|db| Ok::<_, db_kit::DbError>(due.first(db)?))
            .unwrap();
        assert_eq!(due, Some(at(case.due_then)), "{what}");
    }
}

fn configured(project_id: i64) -> IntegrationConfigured {
    IntegrationConfigured {
        project_id,
        revision: 1,
        sealed: Some("sealed".to_owned()),
        paused: false,
    }
}

/// Whether a hook that rests for a day is looked at again for what is given up after so long.
async fn recovers(db: &TestDb, project: i64, given_up: TimeDelta) -> bool {
    let now = DateTime::from_timestamp(1_795_000_000, 0)
        .unwrap()
        .naive_utc();
    let tomorrow = now + TimeDelta::days(1);
    let pool = db.pool(1);
    let work = move |db: &mut Db| {
        configure(db, &configured(project), now)?;
        let mut destination = lock_destinations(db, &BTreeSet::from([project]))?.remove(0);
        destination.free_at = tomorrow;
        let placed = Placed {
            destination,
            lease_owner: None,
            due_at: Some(tomorrow),
            sending: None,
        };
        place(db, &[placed])?;
        let came = NewDelivery {
            event_id: format!("event of {project}"),
            session_id: format!("session of {project}"),
            project_id: project,
            revision: 1,
            request_id: None,
            payload: None,
            state: PENDING,
            attempts: 0,
            next_attempt_at: now,
            give_up_at: now + given_up,
            reason: None,
            created_at: now,
            settled_at: None,
            kind: Kind::Plan.name(),
        };
        insert_deliveries(db, &[came])?;
        let recovered = recover(db, now)?;
        let due: Option<NaiveDateTime> = destinations::table
            .find(project)
            .select(destinations::due_at)
            .first(db)?;
        assert_eq!(due == Some(now), recovered == 1);
        Ok::<_, db_kit::DbError>(recovered == 1)
    };
    pool.write_tx(work).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_rests_for_longer_than_something_waits_is_found_again() {
    let db = TestDb::fresh("rests", crate::MIGRATIONS).await;
    assert!(!recovers(&db, 1, TimeDelta::days(2)).await);
    assert!(recovers(&db, 2, TimeDelta::hours(12)).await);
}
