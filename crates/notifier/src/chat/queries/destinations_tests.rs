#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use chrono::DateTime;
use test_kit::{TestBackend, TestDb};

use super::*;

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
            configure(db, project, 1, Some("sealed"), now)?;
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
